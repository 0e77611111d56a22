# SPDX-License-Identifier: Apache-2.0
"""The chart, rendered by Helm. HELM_DEV is tests/support/helm/helm-dev."""
import json
import os
import pathlib
import subprocess

import yaml

ROOT = pathlib.Path(__file__).parents[3]
CHART = ROOT / "deploy/kubernetes/chart"
NAMESPACE = "argocd"

KAFKA = {"brokers": ["kafka-1.example.com:9093", "kafka-2.example.com:9094"]}
AGENT = {"role": "agent", "agent": {"name": "w1"}, "kafka": KAFKA, "tls": {"secretName": "w1"}}
PRINCIPAL = {"role": "principal", "kafka": KAFKA, "tls": {"secretName": "principal"}}


def merged(values, more):
    """`more` wins, and maps are merged at every level."""
    both = dict(values)
    for key, value in more.items():
        both[key] = merged(both[key], value) if isinstance(value, dict) and isinstance(both.get(key), dict) else value
    return both


def helm(values, *args, release="argobus", namespace=NAMESPACE):
    """The finished `helm template`."""
    command = [os.environ["HELM_DEV"], "template", release, str(CHART), "--namespace", namespace, "--values", "-", *args]
    return subprocess.run(command, input=json.dumps(values), text=True, capture_output=True, timeout=120)


def render(values, *args, **options):
    """The manifests, as Helm would apply them."""
    done = helm(values, *args, **options)
    assert done.returncode == 0, f"{values}\n{done.stderr}"
    return [o for o in yaml.load_all(done.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o]


def one(manifests, kind, name=None):
    """The only manifest of this kind (and name)."""
    found = [o for o in manifests if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name or ''}"
    return found[0]


def config(manifests):
    """Text of the configuration file that the program gets."""
    return one(manifests, "ConfigMap")["data"]["config.yaml"]
