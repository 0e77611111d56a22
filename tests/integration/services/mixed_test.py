#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Agents of both modes at one principal, and an agent whose mode changes."""
import time
import unittest

import yaml

from daemons import Daemon, Fleet, Objects, Tree, application, only_kafka, read_yaml, revision, wait_for

SOURCE_UID = "argocd.argoproj.io/source-uid"


class TwoAgents(Fleet):
    """w1 is listed and managed for want of a word; the cluster Secret of w2 says that it is autonomous."""

    def setUp(self):
        super().setUp()
        self.spoke2 = Tree(self.folder / "w2")
        (self.folder / "agent2" / "data").mkdir(parents=True)
        self.agent2 = Daemon("argobus-agent", self.folder / "agent2", self.agent2_config("autonomous"))
        self.addCleanup(self.agent2.kill)
        self.say_mode("autonomous")

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), agents=[{"name": "w1"}], principal={"data": str(data)})

    def say_mode(self, mode):
        """What the control plane says of w2; None: nothing."""
        annotations = {} if mode is None else {"annotations": {"argobus.io/mode": mode}}
        labels = {"argocd.argoproj.io/secret-type": "cluster", "argocd-agent.argoproj-labs.io/agent-name": "w2"}
        Objects(self.hub).write({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {
            "name": "cluster-w2", "namespace": "argocd", "labels": labels, **annotations}})

    def is_logged(self, text):
        wait_for(f"{text!r} is logged", lambda: text in self.principal.log.read_text())

    def agent2_config(self, mode):
        return dict(super().agent_config(),
                    agent={"name": "w2", "mode": mode, "data": str(self.folder / "agent2" / "data")},
                    store={"kind": "directory", "namespace": "argocd",
                           "directory": {"path": str(self.folder / "w2")}},
                    **self.carried("w2"))

    def start(self):
        super().start()
        self.agent2.start()

    def at_hub(self, value):
        wait_for(f"the mirror is {value}", lambda: revision(self.hub.read("w2", "own")) == value)


class Mixed(TwoAgents):
    def restart_agent2(self, mode):
        self.agent2.stop()
        self.agent2.configure(self.agent2_config(mode))
        self.agent2.start()

    def at_w2(self, value):
        wait_for(f"w2 has {value}", lambda: revision(self.spoke2.read("argocd", "own")) == value)

    def test_agents_of_both_modes_are_served_at_once(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.spoke2.write("argocd", "own", application("own", namespace="argocd"))
        self.start()
        self.arrives("guestbook", "1")
        self.at_hub("1")
        self.hub.write("w2", "intruder", application("intruder", namespace="w2"))
        self.spoke.edit("argocd", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.hub.edit("w2", "own", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.arrives("guestbook", "1")
        self.at_hub("1")
        self.assertEqual(self.spoke2.names("argocd"), {"own"})
        self.assertEqual(self.spoke.names("argocd"), {"guestbook"})

    @only_kafka("over gRPC nothing can be sent to an agent that was never heard")
    def test_nothing_is_sent_to_an_agent_before_its_mode_is_known(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.principal.start()
        wait_for("both are served", lambda: self.principal.log.read_text().count("ready to send to the agent") >= 2)
        sent = self.principal.metric("argobus_events_sent_total")
        self.agent.start()
        self.arrives("guestbook", "1")
        wait_for("it is counted", lambda: self.principal.metric("argobus_events_sent_total") > sent)

    def test_a_mode_changes_and_changes_back_and_nothing_is_deleted(self):
        self.spoke2.write("argocd", "own", application("own", namespace="argocd"))
        self.start()
        self.at_hub("1")
        self.spoke2.set_status("argocd", "own", {"sync": {"revision": "1"}})
        wait_for("its status is at the hub", lambda: self.hub.status("w2", "own"))
        uids = lambda: (self.hub.sidecar("w2", "own").get("uid"), self.spoke2.sidecar("argocd", "own").get("uid"))
        before = wait_for("both have their uid", lambda: all(uids()) and uids())
        self.say_mode("managed")
        self.is_logged("agent refused: it claims another mode")
        self.restart_agent2("managed")
        wait_for("the hub owns it", lambda: SOURCE_UID not in
                 (self.hub.read("w2", "own")["metadata"].get("annotations") or {}))
        self.hub.edit("w2", "own", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.at_w2("2")
        self.spoke2.edit("argocd", "own", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.at_w2("2")
        self.say_mode("autonomous")
        self.restart_agent2("autonomous")
        wait_for("the agent owns it", lambda: SOURCE_UID in
                 (self.hub.read("w2", "own")["metadata"].get("annotations") or {}))
        self.spoke2.edit("argocd", "own", lambda a: a["spec"]["source"].update(targetRevision="3"))
        self.at_hub("3")
        self.assertEqual(uids(), before)

    def test_an_agent_with_another_mode_than_the_configuration_says_is_left_alone(self):
        self.principal.configure(dict(self.principal_config(), agents=[{"name": "w1"}, {"name": "w2", "mode": "managed"}]))
        self.is_left_alone()

    def test_an_agent_cannot_choose_to_be_autonomous(self):
        self.say_mode(None)
        self.is_left_alone()

    def test_nonsense_in_the_annotation_is_named_and_the_agent_counts_as_managed(self):
        self.say_mode("Autonomous")
        self.is_left_alone()
        self.is_logged("annotation of a cluster Secret ignored")
        self.say_mode("autonomous")
        self.at_hub("1")
        self.is_accepted()

    CLAIM = "agent w2 claims mode autonomous, but the control plane says managed: set agent.mode to"

    def is_told(self):
        """The agent's own log and /readyz say why and what to do, and so does the metric at both ends."""
        before = {"grpc": "Authenticate: PERMISSION_DENIED: ", "kafka": "refused by the principal: "}[self.transport]
        wait_for("the agent logs it", lambda: self.CLAIM in self.agent2.log.read_text())
        wait_for("/readyz says it", lambda: before + self.CLAIM in self.agent2.why_unready())
        self.assertEqual(self.agent2.metric("argobus_agent_refused"), 1)
        self.assertEqual(self.principal.metric("argobus_agent_refused"), 1)

    def is_told_again_slowly(self):
        began = time.monotonic()
        wait_for("the agent tries again", lambda: self.agent2.log.read_text().count(self.CLAIM) >= 4)
        self.assertGreater(time.monotonic() - began, 0.5)

    def is_left_alone(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.spoke2.write("argocd", "own", application("own", namespace="argocd"))
        Fleet.start(self)
        self.agent2.start(ready=False)
        self.arrives("guestbook", "1")
        self.is_logged("agent refused: it claims another mode")
        self.is_told()
        if self.transport == "grpc":
            self.is_told_again_slowly()
        self.hub.write("w2", "mine", application("mine", namespace="w2"))
        self.hub.write("w1", "probe", application("probe"))
        self.arrives("probe", "1")
        self.assertEqual(self.spoke2.names("argocd"), {"own"})
        self.assertIsNone(self.hub.read("w2", "own"))

    def is_accepted(self):
        """Without a restart."""
        wait_for("the agent is ready", self.agent2.is_ready)
        self.assertEqual(self.agent2.metric("argobus_agent_refused"), 0)
        self.assertEqual(self.principal.metric("argobus_agent_refused"), 0)

    def test_an_agent_whose_mode_is_taken_back_while_it_runs_stops_until_it_is_given_again(self):
        self.spoke2.write("argocd", "own", application("own", namespace="argocd"))
        self.start()
        self.at_hub("1")
        self.is_logged("agent connected agent=w2")
        self.say_mode("managed")
        self.is_told()
        self.spoke2.edit("argocd", "own", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.hub.write("w1", "probe", application("probe"))
        self.arrives("probe", "1")
        self.assertEqual(revision(self.hub.read("w2", "own")), "1")
        self.say_mode("autonomous")
        self.at_hub("2")
        self.is_accepted()

    @only_kafka("over gRPC each principal refuses the login")
    def test_a_restart_of_the_principal_does_not_accept_a_refused_agent_for_a_moment(self):
        self.say_mode(None)
        self.is_left_alone()
        self.principal.stop()
        self.principal.start()
        refusals = lambda: self.principal.log.read_text().count("agent refused: it claims another mode")
        wait_for("the new principal refuses it", lambda: refusals() >= 2)
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.arrives("guestbook", "2")
        self.assertNotIn("accepts this agent again", self.agent2.log.read_text())
        self.assertIn(self.CLAIM, self.agent2.why_unready())


class ByDestination(TwoAgents):
    """Where the hub keeps the managed agent's Applications is told by their destination."""

    def principal_config(self):
        return dict(super().principal_config(), mapping="destination", namespaces=["w2"])

    def agent_config(self):
        return dict(super().agent_config(), mapping="destination")

    def test_an_autonomous_agent_beside_it_is_mirrored_as_ever(self):
        self.hub.write("argocd", "guestbook", application("guestbook", namespace="argocd"))
        self.spoke2.write("argocd", "own", application("own", namespace="argocd"))
        self.start()
        self.arrives("guestbook", "1")
        self.at_hub("1")
        self.assertEqual(self.hub.read("w2", "own")["spec"]["destination"], {"name": "w2", "namespace": "default"})
        self.spoke2.edit("argocd", "own", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.at_hub("2")
        self.hub.edit("w2", "own", lambda a: a["spec"]["source"].update(targetRevision="hacked"))
        self.at_hub("2")
        self.hub.edit("w2", "own", lambda a: a.update(operation={"sync": {"revision": "abc"}}))
        wait_for("the sync arrives", lambda: (self.spoke2.read("argocd", "own") or {}).get("operation"))
        self.spoke2.remove("argocd", "own")
        wait_for("the mirror is gone", lambda: self.hub.read("w2", "own") is None)
        self.assertEqual(self.spoke.names("argocd"), {"guestbook"})


class Clash(Fleet):
    """Agents w1 and w1-a, both autonomous: project a-p of the one and p of the other would be w1-a-p at the hub."""

    def setUp(self):
        super().setUp()
        self.second = Daemon("argobus-agent", self.folder / "second", self.config("w1-a"))
        self.addCleanup(self.second.kill)

    def principal_config(self):
        data = self.folder / "principal" / "data"
        data.mkdir(parents=True, exist_ok=True)
        return dict(super().principal_config(), principal={"data": str(data)},
                    agents=[{"name": name, "mode": "autonomous"} for name in ("w1", "w1-a")])

    def config(self, name):
        data = self.folder / f"data-{name}"
        data.mkdir(exist_ok=True)
        return dict(super().agent_config(), agent={"name": name, "mode": "autonomous", "data": str(data)},
                    store={"kind": "directory", "namespace": "argocd",
                           "directory": {"path": str(self.folder / name)}},
                    **self.carried(name))

    def agent_config(self):
        return self.config("w1")

    def project(self, agent, name, description):
        folder = self.folder / agent / "argocd" / "AppProject"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
            "metadata": {"name": name, "namespace": "argocd"}, "spec": {"description": description}}))

    def mirror(self):
        project = read_yaml(self.folder / "hub" / "argocd" / "AppProject" / "w1-a-p.yaml")
        return project and project["spec"]["description"]

    def refused(self):
        return self.principal.metric("argobus_events_refused_total")

    def test_the_name_is_the_longer_agents_when_the_other_comes_first(self):
        self.project("w1", "a-p", "first")
        app = application("guestbook", namespace="argocd")
        app["spec"]["project"] = "a-p"
        Tree(self.folder / "w1").write("argocd", "guestbook", app)
        self.start()
        wait_for("it is refused", lambda: self.refused() > 0)
        wait_for("its Application has no project", lambda: (self.hub.read("w1", "guestbook") or {}).get(
            "spec", {}).get("project") == "w1_a-p")
        self.assertIsNone(self.mirror())
        self.project("w1-a", "p", "second")
        self.second.start()
        wait_for("the owner is mirrored", lambda: self.mirror() == "second")
        self.goes_on()

    def test_the_name_is_the_longer_agents_when_it_comes_first(self):
        self.project("w1-a", "p", "second")
        self.principal.start()
        self.second.start()
        wait_for("the owner is mirrored", lambda: self.mirror() == "second")
        self.project("w1", "a-p", "first")
        self.agent.start()
        wait_for("the other is refused", lambda: self.refused() > 0)
        self.goes_on()

    def goes_on(self):
        """Also after a restart of the principal, and when the other changes its project and deletes it."""
        self.principal.stop()
        self.principal.start()
        before = self.refused()
        self.project("w1", "a-p", "changed")
        wait_for("the other is refused", lambda: self.refused() > before)
        (self.folder / "w1" / "argocd" / "AppProject" / "a-p.yaml").unlink()
        self.project("w1-a", "p", "third")
        wait_for("the owner is followed", lambda: self.mirror() == "third")


if __name__ == "__main__":
    unittest.main(verbosity=2)
