# SPDX-License-Identifier: Apache-2.0
"""The broker of the test run, reached as an administrator of a stock Kafka would: through kafka-*.sh."""
import os
import subprocess

from daemons import broker_ports

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KAFKA_DEV = os.environ["KAFKA_DEV"]
HOME = os.environ["KAFKA_DEV_HOME"]
TOOLS = ("topics", "acls", "configs", "consumer-groups", "get-offsets")


def environment(**more):
    """A shell's environment with kafka-*.sh on the PATH, for this broker."""
    bin_folder = os.path.join(HOME, "bin")
    os.makedirs(bin_folder, exist_ok=True)
    for tool in TOOLS:
        path = os.path.join(bin_folder, f"kafka-{tool}.sh")
        mine = f"{path}.{os.getpid()}"  # other tests run it at this moment
        with open(mine, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec "{KAFKA_DEV}" tool {tool} "$@"\n')
        os.chmod(mine, 0o755)
        os.replace(mine, path)
    return {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "BOOTSTRAP": f"127.0.0.1:{broker_ports()['plain']}", "REPLICAS": "1", "MIN_ISR": "1", **more}


def run(*command, env, text=None):
    """The finished command, with its output."""
    return subprocess.run(command, env=env, cwd=ROOT, input=text, capture_output=True, text=True, timeout=300)


def kcat(user, *arguments, text=None):
    """kcat over TLS with the client certificate of `user`."""
    subprocess.run([KAFKA_DEV, "cert", user], check=True, capture_output=True)
    tls = os.path.join(HOME, "tls")
    settings = [f"ssl.ca.location={tls}/ca.crt", f"ssl.certificate.location={tls}/{user}.crt",
                f"ssl.key.location={tls}/{user}.key", "security.protocol=ssl", "message.timeout.ms=60000"]
    options = [part for setting in settings for part in ("-X", setting)]
    return run("kcat", "-m", "60", "-b", f"127.0.0.1:{broker_ports()['tls']}", *options, *arguments, env=os.environ, text=text)
