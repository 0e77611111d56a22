# SPDX-License-Identifier: Apache-2.0
"""An autonomous agent beside a managed one: its objects are mirrored at the hub, where changes of them are undone."""
import pytest
from argocd import argocd_dev
from cluster import ARGOCD, DEPLOY
from daemons import wait_for
from objects import CASCADE, REFRESH, SOURCE_UID, SYNCED, annotations, application, project, revision

IN_CLUSTER = "https://kubernetes.default.svc"
LOCAL = {"name": "in-cluster", "namespace": "default", "server": ""}


@pytest.fixture
def fleet(own_fleet, clusters, tmp_path):
    """w1 is autonomous, w2 managed."""
    role = DEPLOY / "principal-autonomous.yaml"
    clusters["hub"].kubectl("apply", "-f", str(role))
    fleet = own_fleet("namespace", principal={"data": str(tmp_path)},
                      agents=[{"name": "w1", "mode": "autonomous"}, {"name": "w2"}])
    fleet.configure_agent("w1", agent={"mode": "autonomous"})
    fleet.start()
    yield fleet
    fleet.stop()
    clusters["hub"].kubectl("delete", "-f", str(role))


class Own:
    """An Application made at w1."""

    def __init__(self, fleet, name="guestbook", awaited=True, **metadata):
        self.hub, self.spoke, self.name = fleet.hub, fleet.spokes["w1"], name
        o = application(name, ARGOCD, **metadata)
        o["spec"]["destination"] = dict(LOCAL)
        self.spoke.create(o)
        if awaited:
            self.is_mirrored()

    def mirror(self):
        return self.hub.get("Application", "w1", self.name)

    def local(self):
        return self.spoke.get("Application", ARGOCD, self.name)

    def edit(self, body):
        self.spoke.patch("Application", ARGOCD, self.name, body)

    def edit_at_hub(self, body):
        self.hub.patch("Application", "w1", self.name, body)

    def is_mirrored(self, value="1"):
        def found():
            mirror = self.mirror()
            return mirror if revision(mirror) == value and "deletionTimestamp" not in mirror["metadata"] else None
        return wait_for(f"{self.name} is {value} at the hub", found)


def test_an_application_is_mirrored_and_followed(fleet):
    own = Own(fleet, labels={"team": "a"})
    mirror = own.is_mirrored()
    assert mirror["spec"] == own.local()["spec"] | {
        "project": "w1-default", "destination": {"name": "w1", "namespace": "default"}}
    assert mirror["metadata"]["labels"] == {"team": "a"}
    assert annotations(mirror)[SOURCE_UID] == own.local()["metadata"]["uid"]
    own.edit({"spec": {"source": {"targetRevision": "2"}}, "status": SYNCED})
    own.is_mirrored("2")
    wait_for("its status is at the hub", lambda: own.mirror().get("status") == SYNCED)
    own.spoke.delete("Application", ARGOCD, own.name)
    wait_for("the mirror is gone", lambda: own.mirror() is None)


def test_changes_and_deletions_at_the_hub_are_undone(fleet):
    own = Own(fleet)
    own.edit({"status": SYNCED})
    wait_for("its status is at the hub", lambda: own.mirror().get("status") == SYNCED)
    own.edit_at_hub({"spec": {"source": {"targetRevision": "hacked"}}})
    own.is_mirrored()
    before = own.mirror()["metadata"]["uid"]
    own.edit_at_hub({"metadata": {"finalizers": [CASCADE]}})
    own.hub.delete("Application", "w1", own.name)
    wait_for("it is made anew", lambda: (own.mirror() or {"metadata": {"uid": before}})["metadata"]["uid"] != before)
    own.is_mirrored()
    wait_for("its status is at the hub", lambda: own.mirror().get("status") == SYNCED)
    fleet.principal.stop()
    own.edit_at_hub({"spec": {"source": {"targetRevision": "hacked"}}})
    fleet.start("principal")
    own.is_mirrored()
    assert revision(own.local()) == "1"


def test_a_restart_with_nothing_changed_writes_nothing(fleet):
    own = Own(fleet)
    own.edit({"status": SYNCED})
    wait_for("its status is at the hub", lambda: own.mirror().get("status") == SYNCED)
    fleet.stop()
    version = own.mirror()["metadata"]["resourceVersion"]
    fleet.start()
    Own(fleet, "probe")
    assert own.mirror()["metadata"]["resourceVersion"] == version


def test_what_is_asked_for_at_the_hub_is_carried_out(fleet):
    own = Own(fleet)
    own.edit_at_hub({"operation": {"sync": {"revision": "abc"}}})
    wait_for("the sync arrives", lambda: (own.local().get("operation") or {}).get("sync") == {"revision": "abc"})
    own.edit({"operation": None})
    wait_for("it is taken off the hub", lambda: "operation" not in own.mirror())
    own.edit_at_hub({"metadata": {"annotations": {REFRESH: "hard"}}})
    wait_for("the refresh arrives", lambda: annotations(own.local()).get(REFRESH) == "hard")
    own.edit({"metadata": {"annotations": {REFRESH: None}}})
    wait_for("it is taken off the hub", lambda: REFRESH not in annotations(own.mirror()))
    run = {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z", "operation": {}}
    own.edit({"status": {"operationState": run}})
    wait_for("the run is at the hub", lambda: (own.mirror().get("status") or {}).get("operationState") == run)
    own.edit_at_hub({"status": {"operationState": {"phase": "Terminating"}}})
    wait_for("it is terminating", lambda: own.local()["status"]["operationState"]["phase"] == "Terminating")


def test_a_project_is_mirrored_with_its_roles_and_kept(fleet):
    spoke, mirror = fleet.spokes["w1"], lambda: fleet.hub.get("AppProject", ARGOCD, "w1-team")
    role = {"name": "dev", "policies": ["p, proj:team:dev, applications, sync, team/*, allow"]}
    own = project("team", roles=[role])
    own["spec"]["destinations"] = [{"server": IN_CLUSTER, "namespace": "*"}]
    spoke.create(own)
    spec = wait_for("it is mirrored", mirror)["spec"]
    assert spec["sourceNamespaces"] == ["w1"]
    assert spec["destinations"] == [{"name": "w1", "namespace": "*"}]
    assert spec["roles"][0]["policies"] == ["p, proj:w1-team:dev, applications, sync, w1-team/w1/*, allow"]
    fleet.hub.patch("AppProject", ARGOCD, "w1-team", {"spec": {"description": "hacked"}})
    wait_for("it is undone", lambda: mirror()["spec"]["description"] == "first")
    fleet.principal.stop()
    spoke.patch("AppProject", ARGOCD, "team", {"spec": {"description": "second"}})
    fleet.start("principal")
    wait_for("the change follows", lambda: mirror()["spec"]["description"] == "second")
    spoke.delete("AppProject", ARGOCD, "team")
    wait_for("the mirror is gone", lambda: mirror() is None)


@pytest.mark.parametrize("begins_with", ["its role", "none"])
def test_of_a_role_only_the_lines_of_its_own_are_rewritten(fleet, begins_with):
    """Lines that name another role, another project or another resource mean the same at the hub as at the agent."""
    spoke, mirror = fleet.spokes["w1"], lambda: fleet.hub.get("AppProject", ARGOCD, "w1-team")
    others = ["p, proj:team:other, applications, get, team/*, allow", "p, proj:elsewhere:dev, applications, get, team/*, allow",
              "p, somebody, extensions, invoke, httpbin, allow"]
    roles = [{"name": "dev", "policies": ["p, proj:team:dev, applications, get, team/*, allow", *others]}]
    spoke.create(project("team", **({"roles": roles} if begins_with == "its role" else {})))
    wait_for("it is mirrored", mirror)
    spoke.patch("AppProject", ARGOCD, "team", {"spec": {"roles": roles, "description": "second"}})
    spec = wait_for("the change follows", lambda: (lambda s: s if s["description"] == "second" else None)(mirror()["spec"]))
    assert [r["name"] for r in spec["roles"]] == ["dev"]
    assert spec["roles"][0]["policies"] == ["p, proj:w1-team:dev, applications, get, w1-team/w1/*, allow", *others]
    uid = mirror()["metadata"]["uid"]
    fleet.hub.delete("AppProject", ARGOCD, "w1-team")
    wait_for("it is there again", lambda: (mirror() or {"metadata": {"uid": uid}})["metadata"]["uid"] != uid)
    assert mirror()["spec"] == spec


@pytest.mark.parametrize("destination", [{"server": IN_CLUSTER}, {"name": "some-other-cluster"}], ids=["own", "other"])
def test_a_project_stays_as_it_is_over_restarts_whatever_its_destination(fleet, destination):
    spoke, mirror = fleet.spokes["w1"], lambda: fleet.hub.get("AppProject", ARGOCD, "w1-team")
    own = project("team")
    own["spec"]["destinations"] = [destination | {"namespace": "*"}]
    spoke.create(own)
    spec = wait_for("it is mirrored", mirror)["spec"]
    assert spec["destinations"] == [{"name": "w1", "namespace": "*"}]
    for who in ("principal", "w1"):
        with fleet.away(who):
            before = mirror()["metadata"]
        Own(fleet, f"probe-{who}")
        after = mirror()["metadata"]
        assert (after["uid"], after["resourceVersion"]) == (before["uid"], before["resourceVersion"])
    spoke.patch("AppProject", ARGOCD, "team", {"spec": {"description": "second"}})
    wait_for("a change follows", lambda: mirror()["spec"]["description"] == "second")


def test_applications_created_changed_and_deleted_meanwhile_follow(fleet, missing):
    changed, deleted = Own(fleet, "changed"), Own(fleet, "deleted")
    with fleet.away(missing):
        created = Own(fleet, "created", awaited=False)
        changed.edit({"spec": {"source": {"targetRevision": "2"}}, "status": SYNCED})
        deleted.spoke.delete("Application", ARGOCD, "deleted")
    created.is_mirrored()
    changed.is_mirrored("2")
    wait_for("the status follows", lambda: changed.mirror().get("status") == SYNCED)
    wait_for("the deletion follows", lambda: deleted.mirror() is None)


def own_project(name):
    return project(name) | {"spec": {"description": "first", "destinations": [{"server": IN_CLUSTER, "namespace": "*"}]}}


def test_projects_created_changed_and_deleted_meanwhile_follow(fleet, missing):
    spoke, mirror = fleet.spokes["w1"], lambda name: fleet.hub.get("AppProject", ARGOCD, f"w1-{name}")
    for name in ("default", "changed", "deleted"):
        spoke.create(own_project(name))
        wait_for(f"{name} is mirrored", lambda name=name: mirror(name))
    role = {"name": "dev", "policies": ["p, proj:changed:dev, applications, sync, changed/*, allow"]}
    with fleet.away(missing):
        spoke.create(own_project("created"))
        spoke.patch("AppProject", ARGOCD, "default", {"spec": {"description": "second"}})
        spoke.patch("AppProject", ARGOCD, "changed", {"spec": {"roles": [role]}})
        spoke.delete("AppProject", ARGOCD, "deleted")
    wait_for("the new one is mirrored", lambda: mirror("created"))
    wait_for("the change follows", lambda: mirror("default")["spec"]["description"] == "second")
    policies = ["p, proj:w1-changed:dev, applications, sync, w1-changed/w1/*, allow"]
    wait_for("the role follows", lambda: [r["policies"] for r in mirror("changed")["spec"].get("roles", [])] == [policies])
    wait_for("the deletion follows", lambda: mirror("deleted") is None)


@pytest.mark.parametrize("who", ["principal", "w1"])
def test_mirrors_changed_and_deleted_at_the_hub_meanwhile_are_as_before(fleet, who):
    mirror = lambda name: fleet.hub.get("AppProject", ARGOCD, f"w1-{name}")
    changed, deleted = Own(fleet, "changed"), Own(fleet, "deleted")
    for name in ("changed", "deleted"):
        fleet.spokes["w1"].create(own_project(name))
        wait_for(f"{name} is mirrored", lambda name=name: mirror(name))
    with fleet.away(who):
        changed.edit_at_hub({"spec": {"source": {"targetRevision": "hacked"}}})
        fleet.hub.delete("Application", "w1", "deleted")
        fleet.hub.patch("AppProject", ARGOCD, "w1-changed", {"spec": {"description": "hacked"}})
        fleet.hub.delete("AppProject", ARGOCD, "w1-deleted")
    changed.is_mirrored()
    deleted.is_mirrored()
    wait_for("the project is as before", lambda: mirror("changed")["spec"]["description"] == "first")
    wait_for("the other is there again", lambda: mirror("deleted"))


def test_a_managed_agent_beside_it_is_served_as_ever(fleet):
    own, app = Own(fleet), fleet.application("other", "w2")
    app.arrives()
    fleet.hub.create(application("intruder", "w1"))
    fleet.probe("w2")
    assert [a["metadata"]["name"] for a in fleet.spokes["w1"].list("Application")] == [own.name]
    assert [a["metadata"]["name"] for a in fleet.spokes["w2"].list("Application")] == ["other"]


@pytest.fixture
def application_set(fleet):
    """The real controller at w1, and an ApplicationSet there that makes one Application for each name of its list."""
    argocd_dev("start", "w1", "applicationsets")
    spoke = fleet.spokes["w1"]
    spec = application("any", ARGOCD)["spec"] | {"destination": {"server": IN_CLUSTER, "namespace": "default"}}
    spoke.create({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "guestbooks", "namespace": ARGOCD},
        "spec": {"goTemplate": True, "generators": generator("a", "b"),
                 "syncPolicy": {"preserveResourcesOnDeletion": True},  # nobody is here to delete them
                 "template": {"metadata": {"name": "guestbook-{{.name}}"}, "spec": spec}},
    })
    yield lambda body: spoke.patch("ApplicationSet", ARGOCD, "guestbooks", {"spec": body})
    spoke.delete("ApplicationSet", ARGOCD, "guestbooks")
    argocd_dev("stop", "w1")


def generator(*names):
    return [{"list": {"elements": [{"name": name} for name in names]}}]


def test_what_an_application_set_generates_is_mirrored_updated_and_pruned(fleet, application_set):
    def mirror(name):
        return fleet.hub.get("Application", "w1", f"guestbook-{name}")

    for name in ("a", "b"):
        wait_for(f"{name} is mirrored", lambda name=name: mirror(name))
        assert "ownerReferences" not in mirror(name)["metadata"]
    application_set({"template": {"spec": {"source": {"targetRevision": "2"}}}})
    for name in ("a", "b"):
        wait_for(f"{name} is updated", lambda name=name: revision(mirror(name)) == "2")
    application_set({"generators": generator("b", "c")})
    wait_for("c is mirrored", lambda: mirror("c"))
    wait_for("a is gone", lambda: mirror("a") is None)
    assert revision(mirror("b")) == "2"


def test_the_namespace_of_an_agent_is_created_with_its_first_mirror(fleet):
    """principal-autonomous.yaml gives the right, and the option the permission."""
    fleet.principal.stop()
    fleet.hub.delete("Namespace", None, "w1")
    wait_for("the namespace is gone", lambda: fleet.hub.get("Namespace", None, "w1") is None)
    fleet.principal.start("--set", "store.kubernetes.create-namespaces=w1")
    Own(fleet)
    assert fleet.hub.get("Namespace", None, "w1")


def test_an_autonomous_agent_at_a_principal_that_maps_by_destination(own_fleet, clusters, tmp_path):
    """w2 is managed; its Applications go where their destination says."""
    clusters["hub"].grant("principal-autonomous")
    fleet = own_fleet("destination", principal={"data": str(tmp_path)},
                      agents=[{"name": "w1", "mode": "autonomous"}, {"name": "w2"}])
    fleet.configure_agent("w1", mapping="namespace", agent={"mode": "autonomous"})
    fleet.start()
    own = Own(fleet)
    assert own.mirror()["spec"]["destination"] == {"name": "w1", "namespace": "default"}
    own.edit({"spec": {"source": {"targetRevision": "2"}}, "status": SYNCED})
    own.is_mirrored("2")
    wait_for("its status is at the hub", lambda: own.mirror().get("status") == SYNCED)
    other = fleet.application("other", "w2")
    other.arrives()
    assert [a["metadata"]["name"] for a in fleet.spokes["w1"].list("Application")] == [own.name]
    own.edit_at_hub({"spec": {"source": {"targetRevision": "hacked"}}})
    own.is_mirrored("2")
    fleet.stop()
    clusters["hub"].kubectl("delete", "-f", str(DEPLOY / "principal-autonomous.yaml"))
