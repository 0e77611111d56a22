#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Live access through a proxy that speaks HTTP/2, nginx, which ends connections by age and number of calls: after its
GOAWAY the stream goes on, on a connection that takes no further call."""
import time
import unittest

from access import Access
from daemons import wait_for
from nginx import Nginx
from ports import free_port

CALLS = 4  # of a connection: three are those of a login
TOKEN_S = 5  # after that, a call for live events needs another login

SERVER = """
        listen 127.0.0.1:{port} ssl http2;
        ssl_protocols TLSv1.3;
        ssl_certificate {certs}/server.crt;
        ssl_certificate_key {certs}/server.key;
        ssl_client_certificate {certs}/ca.crt;
        ssl_verify_client on;
        keepalive_requests {calls};
        client_max_body_size 0;
        client_body_timeout 1h;
        location / {{
            grpc_pass grpc://127.0.0.1:{principal};
            grpc_set_header X-Client-Subject $ssl_client_s_dn;
            grpc_read_timeout 1h;
            grpc_send_timeout 1h;
        }}
"""


class BehindProxy(Access):
    transport = "grpc"

    def setUp(self):
        self.proxy_port = free_port()
        super().setUp()

    def start(self):
        proxy = Nginx(self.folder / "nginx", SERVER.format(port=self.proxy_port, certs=self.certs, calls=CALLS,
                                                           principal=self.grpc_port))
        self.addCleanup(proxy.stop)
        proxy.start()
        super().start()

    def principal_config(self):
        config = super().principal_config()
        header = {"name": "x-client-subject", "identity": "^CN=([^,]+)"}
        config["grpc"].update(insecure=True, tls={}, auth={"accept": ["header"], "header": header})
        return config

    def agent_config(self):
        config = super().agent_config()
        config["grpc"].update(address=f"localhost:{self.proxy_port}", auth={"method": "header"})
        return config

    def test_a_connection_that_takes_no_more_calls_is_left_when_one_is_needed(self):
        end = time.monotonic() + TOKEN_S + 1
        wait_for("the token of the login is of no use", lambda: time.monotonic() > end)
        wait_for("a request is answered, at the latest the second", lambda: self.ask("GET", "/version").code == 200, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
