# SPDX-License-Identifier: Apache-2.0
"""A fleet whose agent w1 looks into the API server of tests/support/kube, and what asks it through the principal."""
import contextlib
import http.client
import json
import os
import pathlib
import ssl
import subprocess
import uuid

from daemons import Fleet, wait_for
from ports import free_port

TOKEN = "0123456789abcdef-any"
TOKEN_W1 = "0123456789abcdef-w1"


def kubectl(*args, **options):
    return subprocess.run([os.environ["KUBE_DEV"], "kubectl", "test", *args], check=True, text=True,
                          stdout=subprocess.PIPE, timeout=120, **options).stdout


class Answer:
    """An answer that was read to its end."""

    def __init__(self, answer):
        self.code, self.fields, self.body = answer.status, dict(answer.getheaders()), answer.read()

    def json(self):
        return json.loads(self.body)


class Access(Fleet):
    """With a namespace of the test's own. `policy` is the agent's live.kubernetes, `live` the rest of its live."""

    policy = {"policy": "all"}
    live = {}

    def setUp(self):
        self.port = free_port()
        self.certs = pathlib.Path(os.environ["AB_GRPC_CERTS"])
        super().setUp()
        self.namespace = f"live-{uuid.uuid4().hex[:8]}"
        kubectl("create", "namespace", self.namespace)
        self.addCleanup(kubectl, "delete", "namespace", self.namespace, "--wait=false")
        self.start()

    def certificate(self, name):
        """How live access is sealed over Kafka."""
        return {"certificate": str(self.certs / f"{name}.crt"), "key": str(self.certs / f"{name}.key"),
                "ca": str(self.certs / "ca.crt")}

    def principal_config(self):
        tokens = self.folder / "tokens"
        tokens.write_text(f"{TOKEN} *\n{TOKEN_W1} w1\n")
        tls = {"ca": str(self.certs / "ca.crt"), "cert": str(self.certs / "server.crt"),
               "key": str(self.certs / "server.key")}
        resource = {"listen": f"127.0.0.1:{self.port}", "tokens": str(tokens), "tls": tls}
        return {**super().principal_config(), "live": {**self.certificate("server"), "resource": resource}}

    def agent_config(self):
        config = super().agent_config()
        config["store"]["kubernetes"] = {"kubeconfig": os.environ["AB_KUBECONFIG"]}
        return {**config, "live": {"enabled": True, **self.certificate("w1"), "principal": "localhost",
                                   "kubernetes": self.policy, **self.live}}

    def connect(self, certificate=None, port=None):
        """To the principal."""
        context = ssl.create_default_context(cafile=str(self.certs / "ca.crt"))
        if certificate:
            context.load_cert_chain(self.certs / f"{certificate}.crt", self.certs / f"{certificate}.key")
        connection = http.client.HTTPSConnection("localhost", port or self.port, context=context, timeout=60)
        self.addCleanup(connection.close)
        return connection

    def connect_bare(self):
        """To the API server itself, as administrator."""
        folder = pathlib.Path(os.environ["AB_KUBECONFIG"]).parent
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
        port = int((folder / "port").read_text())
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
        self.addCleanup(connection.close)
        return connection

    def begin(self, method, path, body=None, token=TOKEN_W1, connection=None, **fields):
        """The answer, of which only the head was read."""
        connection = connection or self.connect()
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        text = json.dumps(body) if isinstance(body, (dict, list)) else body
        connection.request(method, path, body=text, headers=headers)
        return connection.getresponse()

    def ask(self, method, path, body=None, **options):
        return Answer(self.begin(method, path, body, **options))

    def ask_when_there(self, method, path, body=None, **options):
        """Not before the principal knows its agent."""
        return wait_for("the agent answers", lambda: self.not_away(self.ask(method, path, body, **options)))

    @staticmethod
    def not_away(answer):
        return answer if answer.code != 503 else None

    def bare(self, method, path, **options):
        return self.ask(method, path, token=None, connection=self.connect_bare(), **options)

    def path(self, resource, name=None, group="/api/v1"):
        path = f"{group}/namespaces/{self.namespace}/{resource}"
        return f"{path}/{name}" if name else path

    def apply(self, *objects):
        for o in objects:
            o["metadata"].setdefault("namespace", self.namespace)
        kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def run_pod(self, name, command):
        """A pod of one container, which kubelet-dev runs."""
        wait_for("the namespace has its account", lambda: "default" in kubectl(
            "-n", self.namespace, "get", "serviceaccounts", "-o", "name"))
        self.apply({"apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": name, "annotations": {"kubelet-dev/run": command}},
                    "spec": {"terminationGracePeriodSeconds": 1,
                             "containers": [{"name": "main", "image": "any", "stdin": True}]}})
        kubectl("-n", self.namespace, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=60s")

    def audited(self, *words):
        """The lines of live requests in the principal's log that have all of these words."""
        with contextlib.suppress(FileNotFoundError):
            lines = self.principal.log.read_text().splitlines()
            return [line for line in lines if "live request" in line and all(word in line for word in words)]
        return []


def config_map(name, annotations=None, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "annotations": annotations or {}},
            "data": data}
