# SPDX-License-Identifier: Apache-2.0
"""nginx, as a proxy between an agent and its principal."""
import os
import shutil
import subprocess

NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")

CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log info;
events {{ worker_connections 64; }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{{server}    }}
}}
"""


class Nginx:
    """With one server, of which the text says all."""

    def __init__(self, folder, server):
        folder.mkdir()
        self.folder = folder
        self.config = folder / "nginx.conf"
        self.config.write_text(CONFIG.format(folder=folder, server=server))
        self.process = None

    def start(self):
        self.process = subprocess.Popen([NGINX, "-c", self.config, "-e", self.folder / "error.log"])

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None
