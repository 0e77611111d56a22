# SPDX-License-Identifier: Apache-2.0
"""The bed itself: the pages show what is on the hub's own cluster. No controller runs there; what it would leave in redis
is put there by hand."""
import gzip
import json
import subprocess

import pytest
from argocd import PASSWORD, argocd_dev, port
from cluster import ARGOCD
from daemons import wait_for
from pages import PROMPT

VERSION = "1.8.3"  # common.CacheVersion of Argo CD, a part of each key
NAMESPACE = "guestbook"
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": NAMESPACE},
            "data": {"colour": "blue"}}
POD = {"apiVersion": "v1", "kind": "Pod",
       "metadata": {"name": "counter", "namespace": NAMESPACE,
                    "annotations": {"kubelet-dev/run": "while sleep 0.5; do echo line $((++i)); done"}},
       "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "any"}]}}
RESOURCES = (SETTINGS, POD)
APPLICATION = {
    "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
    "metadata": {"name": "guestbook", "namespace": ARGOCD},
    "spec": {"project": "default", "source": {"repoURL": "https://git.example.com/a.git", "path": "a"},
             "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE}},
    "status": {"sync": {"status": "OutOfSync"}, "health": {"status": "Healthy"}, "resources": [
        {"version": "v1", "kind": "ConfigMap", "namespace": NAMESPACE, "name": "settings", "status": "OutOfSync"}]},
}


@pytest.fixture(scope="module")
def argocd(clusters):
    hub = clusters["hub"]
    hub.namespace(NAMESPACE)
    with hub.pods_run():
        argocd_dev("start", "hub", "server", ARGOCD_DEV_PASSWORD=PASSWORD)
        yield hub
        argocd_dev("stop", "hub")
        hub.remove(POD)


def redis(*args, text=b""):
    subprocess.run(["redis-cli", "-p", port("hub", "redis"), *args], input=text, check=True, stdout=subprocess.DEVNULL)


def put(what, value):
    """What the controller writes for the Application, and how it tells open pages."""
    redis("-x", "set", f"app|{what}|guestbook|{VERSION}.gz", text=gzip.compress(json.dumps(value).encode()))
    redis("publish", f"app|managed-resources|guestbook|{VERSION}", "")


def node(o):
    return {"version": "v1", "kind": o["kind"], "resourceVersion": "1",
            **{key: o["metadata"][key] for key in ("name", "namespace", "uid")}}


def compared(o, **target):
    live = json.dumps({**o, "metadata": {"name": o["metadata"]["name"]}})
    wanted = json.dumps({**json.loads(live), **target})
    return {"kind": o["kind"], "namespace": NAMESPACE, "name": o["metadata"]["name"], "modified": True,
            "targetState": wanted, "predictedLiveState": wanted, "liveState": live, "normalizedLiveState": live}


@pytest.fixture
def guestbook(argocd):
    """The tree of its Application."""
    wait_for("the namespace has its account", lambda: argocd.get("ServiceAccount", NAMESPACE, "default"))
    there = [argocd.create(o) for o in RESOURCES]
    argocd.create(APPLICATION)
    tree = {"nodes": [node(o) for o in there]}
    put("resources-tree", tree)
    put("managed-resources", [compared(SETTINGS, data={"colour": "green"})])
    wait_for("the pod runs", lambda: argocd.get("Pod", NAMESPACE, "counter")["status"]["phase"] == "Running")
    yield tree
    for o in (APPLICATION, *RESOURCES):
        argocd.remove(o)
    wait_for("the pod is gone", lambda: argocd.get("Pod", NAMESPACE, "counter") is None)


def test_an_application_is_in_the_list_with_its_state(guestbook, pages):
    pages.list()
    assert "OutOfSync" in pages.entry("guestbook").inner_text()


def test_the_tree_is_what_redis_has_and_follows_it(guestbook, pages):
    pages.tree(ARGOCD, "guestbook")
    pages.node("pod", "counter").wait_for()
    new = {"version": "v1", "kind": "Secret", "namespace": NAMESPACE, "name": "brand-new", "uid": "1"}
    put("resources-tree", {"nodes": [*guestbook["nodes"], new]})
    pages.node("secret", "brand-new").wait_for()
    put("resources-tree", guestbook)
    pages.node("secret", "brand-new").wait_for(state="detached")


def test_the_live_manifest_and_the_difference_are_shown(guestbook, pages):
    pages.panel(ARGOCD, "guestbook", f"/ConfigMap/{NAMESPACE}/settings", "LIVE MANIFEST")
    pages.manifest("colour: blue").wait_for()
    pages.panel(ARGOCD, "guestbook", f"/ConfigMap/{NAMESPACE}/settings", "DIFF")
    pages.page.locator(".diff-code-insert").filter(has_text="green").first.wait_for()


def test_a_log_goes_on_while_it_is_looked_at(guestbook, pages):
    pages.panel(ARGOCD, "guestbook", f"/Pod/{NAMESPACE}/counter", "LOGS")
    pages.text("line 3").wait_for()
    pages.text("line 12").wait_for()


def test_a_terminal_obeys_what_is_typed(guestbook, pages):
    shown = pages.terminal(ARGOCD, "guestbook", f"/Pod/{NAMESPACE}/counter")
    shown.waits_for(PROMPT)
    pages.type("echo sum $((40 + 2))\n")
    shown.waits_for("sum 42")
