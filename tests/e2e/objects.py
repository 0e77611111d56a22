# SPDX-License-Identifier: Apache-2.0
"""The objects that scenarios create, and the names on them."""
import daemons
from cluster import ARGOCD

SOURCE_UID = "argocd.argoproj.io/source-uid"
PRINCIPAL_UID = "argocd.argoproj.io/principal-uid"
REFRESH = "argocd.argoproj.io/refresh"
ADOPTION = "argocd.argoproj.io/adoption-policy"
REMAPPED = "argocd.argoproj.io/namespace-remapped"
APPROVED = "argocd.argoproj.io/deletion-approved"
IGNORE = "argocd-agent.argoproj-labs.io/ignore-sync"
AGENT_NAME = "argocd-agent.argoproj-labs.io/agent-name"
CASCADE = "resources-finalizer.argocd.argoproj.io"
GPG_KEYS = "argocd-gpg-keys-cm"
SYNCED = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}


def application(name, namespace, agent="w1", revision="1", **metadata):
    app = daemons.application(name, revision, namespace, **metadata)
    app["spec"]["destination"]["name"] = agent
    return app


def project(name, *agents, namespace=ARGOCD, **spec):
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "description": "first",
            "sourceRepos": ["*"],
            "sourceNamespaces": list(agents),
            "destinations": [{"name": agent, "server": "*", "namespace": "*"} for agent in agents],
            **spec,
        },
    }


def repository(name, project_name, kind="repository", **data):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": ARGOCD, "labels": {"argocd.argoproj.io/secret-type": kind}},
        "stringData": {"project": project_name, "url": "https://git.example.com/apps.git", "type": "git", **data},
    }


def gpg_keys(**keys):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": GPG_KEYS, "namespace": ARGOCD, "labels": {"app.kubernetes.io/part-of": "argocd"}},
        "data": keys,
    }


def cluster_secret(agent):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"cluster-{agent}", "namespace": ARGOCD,
                     "labels": {"argocd.argoproj.io/secret-type": "cluster", AGENT_NAME: agent}},
        "stringData": {"name": agent, "server": f"https://agents.example.com?agentName={agent}", "config": "{}"},
    }


def revision(app):
    return app and app["spec"]["source"]["targetRevision"]


def annotations(o):
    return o["metadata"].get("annotations") or {}
