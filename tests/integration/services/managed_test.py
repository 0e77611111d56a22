#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A managed agent, end to end: what a user does at the hub and what happens at the agent, and back."""
import os
import pathlib
import signal
import subprocess
import unittest
import unittest.mock

from daemons import Fleet, Objects, application, revision, wait_for

SOURCE_UID = "argocd.argoproj.io/source-uid"
PRINCIPAL_UID = "argocd.argoproj.io/principal-uid"
REFRESH = "argocd.argoproj.io/refresh"
ADOPTION = "argocd.argoproj.io/adoption-policy"
SYNCED = {"sync": {"status": "Synced"}, "health": {"status": "Healthy"}}


class Managed(Fleet):
    def setUp(self):
        super().setUp()
        self.hub.write("w1", "guestbook", application("guestbook", labels={"team": "a"}))
        self.start()
        self.arrives("guestbook", "1")
        wait_for("its event is dealt with", lambda: self.agent.metric("argobus_unsettled") == 0)

    def local(self):
        return self.spoke.read("argocd", "guestbook")

    def test_an_application_arrives_placed_and_stamped(self):
        app = self.local()
        self.assertEqual(app["spec"]["destination"], {"namespace": "default", "name": "in-cluster", "server": ""})
        self.assertEqual(app["metadata"]["annotations"][SOURCE_UID], self.hub.sidecar("w1", "guestbook")["uid"])
        self.assertEqual(len(app["metadata"]["annotations"][PRINCIPAL_UID]), 36)
        self.assertEqual(app["metadata"]["labels"], {"team": "a"})

    def test_a_change_and_a_deletion_follow(self):
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.arrives("guestbook", "2")
        self.hub.remove("w1", "guestbook")
        wait_for("it is gone at the agent", lambda: self.local() is None)

    def test_status_comes_back_and_costs_no_event_down(self):
        self.spoke.set_status("argocd", "guestbook", SYNCED)
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == SYNCED)
        synced = 'agent="w1",status="Synced"'
        wait_for("it is counted", lambda: self.principal.series("argobus_applications_sync").get(synced) == 1)
        rounds = iter(range(100))

        def costs_nothing():
            status = {"sync": {"status": f"S{next(rounds)}"}}
            received = self.agent.metric("argobus_events_received_total")
            self.spoke.set_status("argocd", "guestbook", status)
            wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == status)
            self.hub.write("w1", "other", application("other", status["sync"]["status"]))
            self.arrives("other", status["sync"]["status"])
            return self.agent.metric("argobus_events_received_total") == received + 1

        # The steps of the first resyncs are events too.
        wait_for("a round with one event down", costs_nothing)

    def test_local_edits_and_deletions_are_reverted(self):
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.arrives("guestbook", "1")
        self.spoke.remove("argocd", "guestbook")
        self.arrives("guestbook", "1")
        wait_for("both are counted", lambda: self.agent.metric("argobus_reverts_total") >= 2)

    def test_local_edits_are_reverted_without_principal_and_after_a_stop(self):
        self.principal.stop()
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.arrives("guestbook", "1")
        self.agent.stop()
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="hacked again"))
        self.start_agent_alone()
        self.arrives("guestbook", "1")
        self.agent.stop()
        self.spoke.remove("argocd", "guestbook")
        self.start_agent_alone()
        self.arrives("guestbook", "1")

    def test_annotations_and_labels_of_others_stay(self):
        self.spoke.edit("argocd", "guestbook", lambda a: (
            a["metadata"]["annotations"].update({"notified.notifications.argoproj.io": "x"}),
            a["metadata"]["labels"].update({"local": "yes"})))
        self.hub.edit("w1", "guestbook", lambda a: (
            a["metadata"]["labels"].clear(), a["spec"]["source"].update(targetRevision="2")))
        self.arrives("guestbook", "2")
        metadata = self.local()["metadata"]
        self.assertEqual(metadata["annotations"]["notified.notifications.argoproj.io"], "x")
        self.assertEqual(metadata["labels"], {"local": "yes"})

    def test_changes_made_while_either_side_is_down_arrive(self):
        self.agent.stop()
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.hub.write("w1", "new", application("new"))
        self.agent.start()
        self.arrives("guestbook", "2")
        self.arrives("new", "1")
        self.principal.stop()
        self.hub.remove("w1", "new")
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="3"))
        self.principal.start()
        self.arrives("guestbook", "3")
        wait_for("the deletion arrives", lambda: self.spoke.read("argocd", "new") is None)

    def test_a_restart_with_nothing_changed_writes_nothing_and_sends_nothing(self):
        self.principal.stop()
        self.agent.stop()
        self.start_agent_alone()
        self.principal.start()
        self.hub.write("w1", "probe", application("probe"))
        self.arrives("probe", "1")
        self.assertEqual(self.agent.metric("argobus_store_writes_total"), 1)
        self.assertEqual(self.principal.metric("argobus_store_writes_total"), 0)

    def test_a_sync_that_is_asked_for_runs_once_and_is_taken_off_the_hub(self):
        self.hub.edit("w1", "guestbook", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        asked = wait_for("the operation arrives", lambda: (self.local() or {}).get("operation"))
        self.assertEqual(asked, {"sync": {"revision": "abc"}})
        self.assertIn("operation", self.hub.read("w1", "guestbook"))
        # Argo CD's controller takes it up and reports.
        self.spoke.edit("argocd", "guestbook", lambda a: (a.pop("operation"), a.update(status=SYNCED)))
        wait_for("it is taken off the hub", lambda: "operation" not in self.hub.read("w1", "guestbook"))
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == SYNCED)
        self.assertNotIn("operation", self.local())
        self.assertEqual(self.agent.metric("argobus_commands_total"), 1)

    def test_an_early_status_does_not_erase_a_request(self):
        self.agent.stop()
        self.hub.edit("w1", "guestbook", lambda a: a.update(operation={"sync": {}}))
        self.spoke.set_status("argocd", "guestbook", SYNCED)
        self.agent.start()
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == SYNCED)
        wait_for("the operation arrives", lambda: (self.local() or {}).get("operation"))
        self.assertIn("operation", self.hub.read("w1", "guestbook"))

    def test_a_refresh_is_carried_out_and_cleared(self):
        self.hub.edit("w1", "guestbook", lambda a: a["metadata"].setdefault("annotations", {}).update({REFRESH: "hard"}))
        wait_for("the refresh arrives", lambda: self.local()["metadata"]["annotations"].get(REFRESH) == "hard")
        self.spoke.edit("argocd", "guestbook", lambda a: (a["metadata"]["annotations"].pop(REFRESH),
                                                          a.update(status=SYNCED)))
        wait_for("it is cleared at the hub",
                 lambda: REFRESH not in (self.hub.read("w1", "guestbook")["metadata"].get("annotations") or {}))

    def test_a_terminate_ends_the_run_it_names(self):
        running = {"operationState": {"phase": "Running", "startedAt": "2026-01-02T03:04:05Z"}}
        self.spoke.set_status("argocd", "guestbook", running)
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook") == running)
        self.hub.set_status("w1", "guestbook", {"operationState": dict(running["operationState"], phase="Terminating")})
        wait_for("the agent's operation is terminating", lambda: (
            self.spoke.status("argocd", "guestbook") or {}).get("operationState", {}).get("phase") == "Terminating")

    def test_an_application_recreated_at_the_hub_replaces_the_old_one(self):
        before = self.spoke.sidecar("argocd", "guestbook")["uid"]
        self.agent.stop()
        self.hub.remove("w1", "guestbook")
        wait_for("the principal saw it go", lambda: not self.hub.sidecar("w1", "guestbook"))
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        wait_for("the principal saw it come", lambda: self.hub.sidecar("w1", "guestbook"))
        self.agent.start()
        self.arrives("guestbook", "2")
        wait_for("it was made anew", lambda: self.spoke.sidecar("argocd", "guestbook").get("uid", before) != before)
        wait_for("it stands for the new one", lambda: self.local() and self.local()["metadata"]["annotations"][
            SOURCE_UID] == self.hub.sidecar("w1", "guestbook")["uid"])

    def test_an_existing_application_is_adopted(self):
        self.spoke.write("argocd", "found", application("found", "local", namespace="argocd"))
        self.hub.write("w1", "found", application("found", "2"))
        self.arrives("found", "2")
        self.assertIn(SOURCE_UID, self.spoke.read("argocd", "found")["metadata"]["annotations"])

    def test_an_application_that_may_not_be_adopted_is_left_and_reported(self):
        mine = application("mine", "local", namespace="argocd", annotations={ADOPTION: "never"})
        self.spoke.write("argocd", "mine", mine)
        self.hub.write("w1", "mine", application("mine", "2"))
        status = wait_for("the hub says so", lambda: self.hub.status("w1", "mine"))
        self.assertEqual(status["health"]["status"], "Degraded")
        self.assertEqual(status["conditions"][0]["type"], "AgentError")
        self.assertEqual(self.spoke.read("argocd", "mine"), mine)
        self.spoke.remove("argocd", "mine")
        self.arrives("mine", "2")

    def test_nothing_is_deleted_when_the_hub_lost_its_store(self):
        for i in range(30):
            self.hub.write("w1", f"app-{i}", application(f"app-{i}"))
        wait_for("all are there", lambda: len(self.spoke.names("argocd")) == 31)
        self.principal.stop()
        for name in self.hub.names("w1"):
            self.hub.remove("w1", name)
        self.principal.start()
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == 31)
        self.assertEqual(len(self.spoke.names("argocd")), 31)

    def many(self, count):
        for i in range(count):
            self.hub.write("w1", f"app-{i}", application(f"app-{i}"))
        wait_for("all are there", lambda: len(self.spoke.names("argocd")) == count + 1)

    def test_two_hundred_deletions_that_are_observed_all_arrive(self):
        self.many(200)
        for i in range(200):
            self.hub.remove("w1", f"app-{i}")
        wait_for("all are gone", lambda: self.spoke.names("argocd") == {"guestbook"})
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)
        self.assertNotIn("held back", self.principal.log.read_text())

    def test_a_folder_that_goes_as_a_whole_is_held(self):
        self.many(30)
        (self.folder / "hub" / "w1").rename(self.folder / "aside")
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == 31, seconds=10)
        self.assertEqual(len(self.spoke.names("argocd")), 31)
        self.assertRegex(self.principal.get("/readyz"), "^ok\nagent w1: 31 deletions are held back, confirm with [0-9a-f]{8}\n$")
        (self.folder / "aside").rename(self.folder / "hub" / "w1")
        self.hub.write("w1", "guestbook", application("guestbook", "7"))
        self.arrives("guestbook", "7")
        self.assertEqual(len(self.spoke.names("argocd")), 31)

    def test_what_is_held_is_confirmed_by_an_annotation_on_the_cluster_secret(self):
        self.many(30)
        (self.folder / "hub" / "w1").rename(self.folder / "aside")
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == 31)
        token = self.principal.get("/readyz").split()[-1]
        self.annotate_cluster("00000000")
        self.annotate_cluster(token)
        wait_for("they are deleted", lambda: not self.spoke.names("argocd"))
        wait_for("nothing is held", lambda: self.principal.metric("argobus_deletions_held") == 0)
        self.assertEqual(self.principal.get("/readyz"), "ok\n")

    def test_of_an_agent_that_is_taken_away_nothing_is_held(self):
        self.many(30)
        (self.folder / "hub" / "w1").rename(self.folder / "aside")
        wait_for("the guard holds", lambda: "held back" in (self.principal.get("/readyz") or ""))
        self.principal.configure({**self.principal_config(), "agents": []})
        self.principal.process.send_signal(signal.SIGHUP)
        wait_for("the series are gone", lambda: not self.principal.series("argobus_deletions_held"))
        self.assertEqual(self.principal.get("/readyz"), "ok\n")

    def test_argobusctl_finds_the_principal_without_set_up(self):
        self.principal.stop()
        with unittest.mock.patch.dict(os.environ, RUNTIME_DIRECTORY=str(self.folder)):
            self.principal.start()
            asked = subprocess.run([pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "resync", "--agent", "w1"],
                                   capture_output=True, text=True, timeout=60)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        self.assertIn("resync started", asked.stdout)

    def annotate_cluster(self, token):
        before = self.principal.metric("argobus_store_objects")
        Objects(self.hub).write({
            "apiVersion": "v1", "kind": "Secret", "stringData": {"name": "w1"}, "metadata": {
                "name": "cluster-w1", "namespace": "argocd",
                "annotations": {"argobus.io/confirm-deletions": token},
                "labels": {"argocd.argoproj.io/secret-type": "cluster",
                           "argocd-agent.argoproj-labs.io/agent-name": "w1"}}})
        if token == "00000000":
            wait_for("it is read", lambda: self.principal.metric("argobus_store_objects") > before)
            self.assertEqual(len(self.spoke.names("argocd")), 31)

    def guard(self, *settings):
        """Five Applications at the agent, and a principal with these settings of its guard."""
        for i in range(4):
            self.hub.write("w1", f"app-{i}", application(f"app-{i}"))
        wait_for("all are there", lambda: len(self.spoke.names("argocd")) == 5)
        self.principal.stop()
        self.principal.start(*(word for setting in settings for word in ("--set", f"sync.{setting}")))

    def test_the_guard_holds_more_than_the_percentage_that_is_set(self):
        self.guard("guard-observed=true", "max-deletions=0", "max-deletions-percent=20")
        self.hub.remove("w1", "app-0")
        wait_for("a fifth may go", lambda: self.spoke.read("argocd", "app-0") is None)
        self.hub.remove("w1", "app-1")
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == 1)
        self.assertIsNotNone(self.spoke.read("argocd", "app-1"))

    def test_the_guard_counts_within_the_window_that_is_set(self):
        self.guard("guard-observed=true", "max-deletions=1", "max-deletions-percent=0", "deletions-window=0s")
        for name in ("app-0", "app-1"):
            self.hub.remove("w1", name)
            wait_for("each is the first", lambda: self.spoke.read("argocd", name) is None)
        self.assertEqual(self.principal.metric("argobus_deletions_held"), 0)

    def test_a_wiped_cache_is_learnt_anew(self):
        self.agent.stop()
        for path in (self.folder / "agent" / "data").iterdir():
            path.unlink()
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.agent.start()
        self.arrives("guestbook", "1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
