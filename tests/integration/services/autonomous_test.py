#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An autonomous agent, end to end: what stands at the hub follows the agent's cluster and nothing else, and what is
asked for at the hub is carried out there."""
import re
import unittest

import yaml

from daemons import Fleet, application, kafka_dev, read_yaml, revision, wait_for

SOURCE_UID = "argocd.argoproj.io/source-uid"
REFRESH = "argocd.argoproj.io/refresh"
SYNCED = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}


class Autonomous(Fleet):
    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1", "mode": "autonomous"}], principal={"data": str(data)},
                    control={"socket": str(self.folder / "ctl.sock")})

    def agent_config(self):
        config = super().agent_config()
        config["agent"]["mode"] = "autonomous"
        return config

    def setUp(self):
        super().setUp()
        self.spoke.write("argocd", "guestbook", application("guestbook", namespace="argocd", labels={"team": "a"}))
        self.start()
        self.is_mirrored("guestbook", "1")

    def is_mirrored(self, name, value):
        wait_for(f"{name} is {value} at the hub", lambda: revision(self.hub.read("w1", name)) == value)

    def is_gone(self, name):
        wait_for(f"{name} is gone at the hub", lambda: self.hub.read("w1", name) is None)

    def change(self, value, name="guestbook"):
        self.spoke.edit("argocd", name, lambda a: a["spec"]["source"].update(targetRevision=value))

    def tamper(self, value="hacked"):
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision=value))

    def mirror(self):
        return self.hub.read("w1", "guestbook")

    def test_a_mirror_stands_in_the_agents_namespace_and_project(self):
        mirror = self.mirror()
        self.assertEqual(mirror["spec"]["project"], "w1-default")
        self.assertEqual(mirror["spec"]["destination"], {"name": "w1", "namespace": "default"})
        self.assertEqual(mirror["metadata"]["labels"], {"team": "a"})
        uid = wait_for("the agent's object has a uid", lambda: self.spoke.sidecar("argocd", "guestbook").get("uid"))
        self.assertEqual(mirror["metadata"]["annotations"][SOURCE_UID], uid)

    def test_a_change_a_status_and_a_deletion_follow(self):
        self.change("2")
        self.is_mirrored("guestbook", "2")
        self.spoke.set_status("argocd", "guestbook", SYNCED)
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == SYNCED)
        healthy = 'agent="w1",status="Healthy"'
        wait_for("it is counted", lambda: self.principal.series("argobus_applications_health").get(healthy) == 1)
        self.spoke.remove("argocd", "guestbook")
        self.is_gone("guestbook")
        wait_for("it is not", lambda: self.principal.series("argobus_applications_health").get(healthy) == 0)

    def test_edits_and_deletions_at_the_hub_are_undone(self):
        self.hub.remove("w1", "guestbook")
        self.is_mirrored("guestbook", "1")

        def is_undone_and_counted():
            self.tamper()
            self.is_mirrored("guestbook", "1")
            return self.principal.metric("argobus_reverts_total") >= 1

        # What is changed while an event is taken up is undone with that, and not counted.
        wait_for("an edit is undone and counted", is_undone_and_counted)
        self.assertEqual(revision(self.spoke.read("argocd", "guestbook")), "1")

    def test_edits_and_deletions_made_while_the_principal_was_down_are_undone_without_the_agent(self):
        self.spoke.write("argocd", "other", application("other", namespace="argocd"))
        self.is_mirrored("other", "1")
        self.agent.stop()
        self.principal.stop()
        self.tamper()
        self.hub.remove("w1", "other")
        self.principal.start()
        self.is_mirrored("guestbook", "1")
        self.is_mirrored("other", "1")

    def test_changes_made_while_either_side_is_down_arrive(self):
        self.spoke.write("argocd", "old", application("old", namespace="argocd"))
        self.is_mirrored("old", "1")
        self.agent.stop()
        self.change("2")
        self.spoke.remove("argocd", "old")
        self.agent.start()
        self.is_mirrored("guestbook", "2")
        self.is_gone("old")
        self.principal.stop()
        self.change("3")
        self.spoke.write("argocd", "new", application("new", namespace="argocd"))
        wait_for("they are published", lambda: self.agent.metric("argobus_events_sent_total") >= 2)
        self.principal.start()
        self.is_mirrored("guestbook", "3")
        self.is_mirrored("new", "1")

    def test_a_killed_principal_and_a_killed_agent_lose_nothing(self):
        for round in range(3):
            for i in range(20):
                self.spoke.write("argocd", f"app-{i}", application(f"app-{i}", str(round), namespace="argocd"))
            (self.principal if round % 2 else self.agent).kill()
            self.change(f"k{round}")
            (self.principal if round % 2 else self.agent).start()
            self.is_mirrored("guestbook", f"k{round}")
            for i in range(20):
                self.is_mirrored(f"app-{i}", str(round))

    def test_a_lost_folder_of_the_principal_is_learnt_anew_and_nothing_is_written(self):
        self.principal.stop()
        for path in (self.folder / "principal" / "data").iterdir():
            path.unlink()
        self.principal.start()
        self.spoke.write("argocd", "probe", application("probe", namespace="argocd"))
        self.is_mirrored("probe", "1")
        self.assertEqual(self.principal.metric("argobus_store_writes_total"), 1)
        self.tamper()
        self.is_mirrored("guestbook", "1")

    def test_a_restart_with_nothing_changed_writes_nothing_and_sends_nothing(self):
        self.principal.stop()
        self.agent.stop()
        self.start_agent_alone()
        self.principal.start()
        self.spoke.write("argocd", "probe", application("probe", namespace="argocd"))
        self.is_mirrored("probe", "1")
        self.assertEqual(self.principal.metric("argobus_store_writes_total"), 1)
        self.assertEqual(self.agent.metric("argobus_store_writes_total"), 0)

    def test_a_sync_asked_for_at_the_hub_runs_once_at_the_agent(self):
        self.hub.edit("w1", "guestbook", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        asked = wait_for("the operation arrives", lambda: self.spoke.read("argocd", "guestbook").get("operation"))
        self.assertEqual(asked, {"sync": {"revision": "abc"}})
        self.assertIn("operation", self.mirror())
        # Argo CD's controller takes it up and reports.
        self.spoke.edit("argocd", "guestbook", lambda a: (a.pop("operation"), a.update(status=SYNCED)))
        wait_for("it is taken off the hub", lambda: "operation" not in self.mirror())
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == SYNCED)
        self.assertEqual(self.agent.metric("argobus_commands_total"), 1)

    def test_a_refresh_asked_for_at_the_hub_is_carried_out(self):
        self.hub.edit("w1", "guestbook", lambda a: a["metadata"]["annotations"].update({REFRESH: "hard"}))
        annotations = lambda: self.spoke.read("argocd", "guestbook")["metadata"].get("annotations") or {}
        wait_for("the refresh arrives", lambda: annotations().get(REFRESH) == "hard")
        self.spoke.edit("argocd", "guestbook", lambda a: a["metadata"]["annotations"].pop(REFRESH))
        wait_for("it is cleared at the hub", lambda: REFRESH not in self.mirror()["metadata"]["annotations"])

    def test_a_terminate_asked_for_at_the_hub_ends_the_run(self):
        running = {"operationState": {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}
        self.spoke.set_status("argocd", "guestbook", running)
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == running)
        self.hub.set_status("w1", "guestbook", {"operationState": dict(running["operationState"], phase="Terminating")})
        wait_for("the run is terminating", lambda: (
            self.spoke.status("argocd", "guestbook") or {}).get("operationState", {}).get("phase") == "Terminating")

    def test_nothing_else_is_taken_from_the_hub(self):
        self.hub.write("w1", "intruder", application("intruder"))
        self.hub.edit("w1", "guestbook", lambda a: a.update(operation={"sync": {}}))
        wait_for("the operation arrives", lambda: self.spoke.read("argocd", "guestbook").get("operation"))
        self.assertEqual(self.spoke.names("argocd"), {"guestbook"})
        self.assertEqual(revision(self.hub.read("w1", "intruder")), "1")

    def test_what_stands_at_the_hub_already_is_left_alone_and_counted(self):
        self.hub.write("w1", "mine", application("mine", "hub"))
        self.spoke.write("argocd", "mine", application("mine", "spoke", namespace="argocd"))
        wait_for("it is counted", lambda: self.principal.metric("argobus_mirror_conflicts") == 1)
        self.assertEqual(revision(self.hub.read("w1", "mine")), "hub")
        self.hub.remove("w1", "mine")
        self.is_mirrored("mine", "spoke")
        wait_for("it is counted no more", lambda: self.principal.metric("argobus_mirror_conflicts") == 0)

    def test_a_project_and_a_child_application_are_mirrored(self):
        folder = self.folder / "w1" / "argocd" / "AppProject"
        folder.mkdir(parents=True)
        project = {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
                   "metadata": {"name": "team", "namespace": "argocd"},
                   "spec": {"destinations": [{"server": "https://kubernetes.default.svc", "namespace": "apps"}],
                            "roles": [{"name": "dev", "policies": ["p, proj:team:dev, applications, sync, team/*, allow"]}]}}
        (folder / "team.yaml").write_text(yaml.safe_dump(project))
        mirror = self.folder / "hub" / "argocd" / "AppProject" / "w1-team.yaml"
        spec = wait_for("it is mirrored", lambda: (read_yaml(mirror) or {}).get("spec"))
        self.assertEqual(spec["sourceNamespaces"], ["w1"])
        self.assertEqual(spec["destinations"], [{"name": "w1", "namespace": "apps"}])
        self.assertEqual(spec["roles"][0]["policies"],
                         ["p, proj:w1-team:dev, applications, sync, w1-team/w1/*, allow"])
        child = {"group": "argoproj.io", "kind": "Application", "name": "child", "namespace": "argocd"}
        self.spoke.write("argocd", "child", application("child", namespace="argocd"))
        self.spoke.set_status("argocd", "guestbook", {"resources": [child]})
        self.is_mirrored("child", "1")
        wait_for("the parent names its mirror", lambda: self.hub.status("w1", "guestbook") ==
                 {"resources": [dict(child, namespace="w1")]})
        (folder / "team.yaml").unlink()
        wait_for("it is gone", lambda: not mirror.exists())

    def test_nothing_is_deleted_when_the_agent_lost_its_store(self):
        for i in range(30):
            self.spoke.write("argocd", f"app-{i}", application(f"app-{i}", namespace="argocd"))
        wait_for("all are mirrored", lambda: len(self.hub.names("w1")) == 31)
        self.agent.stop()
        for name in self.spoke.names("argocd"):
            self.spoke.remove("argocd", name)
        self.agent.start()
        wait_for("the guard holds", lambda: self.agent.metric("argobus_deletions_held") == 31)
        wait_for("the principal knows", lambda: self.principal.metric("argobus_deletions_held") == 31)
        asked = self.ctl("resync", "--agent", "w1")
        self.assertIn("held back: 31", asked.stdout, asked.stderr)
        named = self.ctl("pending", "w1").stdout
        self.assertEqual(len(re.findall(r"^up +Application +argocd/\S+ +delete +- +held: too many$", named, re.M)), 31, named)
        self.assertEqual(len(self.hub.names("w1")), 31)
        self.is_confirmed()

    def many(self):
        for i in range(30):
            self.spoke.write("argocd", f"app-{i}", application(f"app-{i}", namespace="argocd"))
        wait_for("all are mirrored", lambda: len(self.hub.names("w1")) == 31)

    def test_deletions_that_are_observed_all_arrive(self):
        self.many()
        for name in self.spoke.names("argocd"):
            self.spoke.remove("argocd", name)
        wait_for("all are gone", lambda: not self.hub.names("w1"))
        self.assertEqual(self.agent.metric("argobus_deletions_held"), 0)

    def test_a_folder_that_goes_as_a_whole_is_held_until_the_operator_confirms(self):
        self.many()
        (self.spoke.folder / "argocd" / "Application").rename(self.folder / "aside")
        wait_for("the principal knows", lambda: self.principal.metric("argobus_deletions_held") == 31, seconds=10)
        self.assertEqual(len(self.hub.names("w1")), 31)
        self.is_confirmed()

    def guard(self, *settings):
        """Five Applications at the hub, and an agent with these settings of its guard."""
        for i in range(4):
            self.spoke.write("argocd", f"app-{i}", application(f"app-{i}", namespace="argocd"))
        wait_for("all are mirrored", lambda: len(self.hub.names("w1")) == 5)
        self.agent.stop()
        self.agent.start(*(word for setting in settings for word in ("--set", f"sync.{setting}")))

    def test_the_guard_holds_more_than_the_percentage_that_is_set(self):
        self.guard("guard-observed=true", "max-deletions=0", "max-deletions-percent=20")
        self.spoke.remove("argocd", "app-0")
        self.is_gone("app-0")
        self.spoke.remove("argocd", "app-1")
        wait_for("the guard holds", lambda: self.agent.metric("argobus_deletions_held") == 1)
        self.assertIsNotNone(self.hub.read("w1", "app-1"))

    def test_the_guard_counts_within_the_window_that_is_set(self):
        self.guard("guard-observed=true", "max-deletions=1", "max-deletions-percent=0", "deletions-window=0s")
        for name in ("app-0", "app-1"):
            self.spoke.remove("argocd", name)
            self.is_gone(name)
        self.assertEqual(self.agent.metric("argobus_deletions_held"), 0)

    def is_confirmed(self):
        token = self.principal.get("/readyz").split()[-1]
        self.assertEqual(self.ctl("resync", "--agent", "w1", "--confirm", token).returncode, 0)
        wait_for("they are deleted", lambda: not self.hub.names("w1"))
        for daemon in (self.agent, self.principal):
            wait_for("nothing is held", lambda: daemon.metric("argobus_deletions_held") == 0)

    def test_a_mirror_of_which_nobody_knows_any_more_goes(self):
        self.spoke.write("argocd", "other", application("other", namespace="argocd"))
        self.is_mirrored("other", "1")
        self.principal.stop()
        self.agent.stop()
        self.spoke.remove("argocd", "other")
        self.forget_all()
        self.start()
        self.is_gone("other")
        self.assertEqual(revision(self.mirror()), "1")

    def test_it_goes_also_when_its_tombstone_was_lost_by_itself(self):
        self.spoke.write("argocd", "other", application("other", namespace="argocd"))
        self.is_mirrored("other", "1")
        self.agent.stop()
        self.spoke.remove("argocd", "other")
        self.principal.stop()
        self.forget_logs()
        self.start()
        self.is_gone("other")
        self.assertEqual(revision(self.mirror()), "1")

    def forget_logs(self):
        """What was said. Over gRPC it went with the processes."""
        if self.transport == "kafka":
            kafka_dev("tool", "topics", "--delete", "--topic", f"{self.prefix}[.](down|up)[.]w1[.]state")

    def forget_all(self):
        self.forget_logs()
        for path in (self.folder / "principal" / "data").iterdir():
            path.unlink()


if __name__ == "__main__":
    unittest.main(verbosity=2)
