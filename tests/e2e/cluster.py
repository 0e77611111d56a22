# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes cluster as its administrator sees it."""
import base64
import contextlib
import os
import pathlib
import subprocess

import kubernetes
import yaml
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

ARGOCD = "argocd"
API = {**dict.fromkeys(("Application", "ApplicationSet", "AppProject"), "argoproj.io/v1alpha1"),
       **dict.fromkeys(("Deployment", "StatefulSet"), "apps/v1")}
# Beside those of kube-dev: what makes the pods of a Deployment.
CONTROLLERS = ("namespace-controller", "garbage-collector-controller", "serviceaccount-controller",
               "clusterrole-aggregation-controller", "deployment-controller", "replicaset-controller")
DEPLOY = pathlib.Path(__file__).parents[2] / "deploy/kubernetes/rbac"


class Cluster:
    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(os.environ["KUBE_DEV_HOME"], "clusters", name)
        self.client = None

    def kube_dev(self, command, *args):
        subprocess.run([os.environ["KUBE_DEV"], command, self.name, *args], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "KUBE_DEV_CONTROLLERS": ",".join(CONTROLLERS)})

    def kubectl(self, *args):
        self.kube_dev("kubectl", *args)

    def connect(self):
        self.client = kubernetes.dynamic.DynamicClient(
            kubernetes.config.new_client_from_config(str(self.folder / "kubeconfig")))

    def start(self):
        self.kube_dev("fresh")
        self.connect()

    def stop(self):
        self.kube_dev("kill")

    @contextlib.contextmanager
    def pods_run(self):
        """It has a node meanwhile, as kubelet-dev says."""
        subprocess.run([os.environ["KUBELET_DEV"], "start", self.name], check=True)
        try:
            yield
        finally:
            subprocess.run([os.environ["KUBELET_DEV"], "stop", self.name], check=True)

    def of(self, kind):
        return self.client.resources.get(api_version=API.get(kind, "v1"), kind=kind)

    def get(self, kind, namespace, name):
        """The object, None when there is none."""
        with contextlib.suppress(NotFoundError):
            return self.of(kind).get(namespace=namespace, name=name).to_dict()
        return None

    def list(self, kind, namespace=None, selector=None):
        return [o.to_dict() for o in self.of(kind).get(namespace=namespace, label_selector=selector).items]

    def create(self, o):
        return self.of(o["kind"]).create(body=o, namespace=o["metadata"].get("namespace")).to_dict()

    def patch(self, kind, namespace, name, body):
        """A merge patch: None takes a member away."""
        self.of(kind).patch(namespace=namespace, name=name, body=body, content_type="application/merge-patch+json")

    def delete(self, kind, namespace, name, propagation="Background"):
        with contextlib.suppress(NotFoundError):
            self.of(kind).delete(namespace=namespace, name=name, propagation_policy=propagation)

    def remove(self, o):
        """Delete it now, whatever its finalizers say."""
        metadata = o["metadata"]
        where = (o["kind"], metadata.get("namespace"), metadata["name"])
        with contextlib.suppress(NotFoundError, ConflictError):
            self.delete(*where)
            if metadata.get("finalizers"):
                self.patch(*where, {"metadata": {"finalizers": None}})

    def namespace(self, name):
        with contextlib.suppress(ConflictError):
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def grant(self, *manifests):
        """Apply files of deploy/kubernetes/rbac."""
        for name in manifests:
            self.kubectl("apply", "-f", str(DEPLOY / f"{name}.yaml"))

    @contextlib.contextmanager
    def granted(self, manifest):
        """Such a file, meanwhile."""
        self.grant(manifest)
        try:
            yield
        finally:
            self.kubectl("delete", "-f", str(DEPLOY / f"{manifest}.yaml"))

    def token(self, account, **spec):
        """One for a service account of Argo CD's namespace, good for a day."""
        return kubernetes.client.CoreV1Api(self.client.client).create_namespaced_service_account_token(
            account, ARGOCD, {"spec": {"expirationSeconds": 24 * 3600, **spec}}).status.token

    def kubeconfig(self, path, **user):
        """Write one for a user with these credentials; its context is "argobus"."""
        admin = yaml.safe_load((self.folder / "kubeconfig").read_text())
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config",
            "clusters": admin["clusters"],
            "users": [{"name": "argobus", "user": user}],
            "contexts": [{"name": "argobus", "context": {"cluster": admin["clusters"][0]["name"], "user": "argobus"}}],
        }))
        return path


def decoded(secret):
    return {key: base64.b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
