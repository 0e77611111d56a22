# SPDX-License-Identifier: Apache-2.0
"""The roles of deploy/kubernetes/rbac allow what is needed (every scenario runs under them) and no more."""
import kubernetes
import pytest


def allowed(cluster, account, verb, resource, namespace, group, name=""):
    review = kubernetes.client.AuthorizationV1Api(cluster.client.client).create_subject_access_review(
        {"spec": {"user": f"system:serviceaccount:argocd:{account}",
                  "resourceAttributes": {"verb": verb, "resource": resource, "namespace": namespace, "group": group,
                                        "name": name}}})
    return review.status.allowed


@pytest.mark.parametrize(("verb", "resource", "namespace", "may"), [
    ("patch", "applications", "w1", True),
    ("create", "applications", "w1", False),
    ("delete", "applications", "w1", False),
    ("delete", "appprojects", "argocd", False),
    ("get", "secrets", "argocd", True),
    ("patch", "secrets", "argocd", False),
    ("get", "secrets", "kube-system", False),
    ("list", "secrets", "", False),
    ("create", "namespaces", "", False),
    ("list", "nodes", "", False),
])
def test_a_principal_may_do_what_it_needs_only(fleet, verb, resource, namespace, may):
    group = "argoproj.io" if resource.startswith("app") else ""
    assert allowed(fleet.hub, "argobus-principal", verb, resource, namespace, group) == may


@pytest.mark.parametrize(("name", "may"), [
    ("argobus-store-mark", True),
    ("argobus-store-mark-1", True),
    ("argobus-store-mark-19", True),
    ("argocd-cm", False),
    ("argocd-rbac-cm", False),
    ("", False),
])
def test_a_principal_may_write_the_parts_of_the_watermark_and_no_other_config_map(fleet, name, may):
    assert allowed(fleet.hub, "argobus-principal", "patch", "configmaps", "argocd", "", name) == may


@pytest.mark.parametrize(("verb", "resource", "namespace", "may"), [
    ("create", "applications", "argocd", True),
    ("create", "secrets", "argocd", True),
    ("get", "secrets", "kube-system", False),
    ("list", "secrets", "", False),
    ("delete", "namespaces", "", False),
    ("list", "nodes", "", False),
    ("list", "applications", "team-a", "destination"),
    ("create", "namespaces", "", "destination"),
])
def test_an_agent_may_do_what_it_needs_only(fleet, verb, resource, namespace, may):
    group = "argoproj.io" if resource.startswith("app") else ""
    expected = may == fleet.mapping if isinstance(may, str) else may
    assert allowed(fleet.spokes["w1"], "argobus-agent", verb, resource, namespace, group) == expected
