#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All kinds, both mappings, and agents that come and go, as processes on directory stores."""
import base64
import json
import signal
import subprocess
import unittest
import uuid

import yaml

from daemons import Daemon, Fleet, Objects, Tree, application, broker_holds, kcat, only_kafka, revision, wait_for

AGENT_NAME = "argocd-agent.argoproj-labs.io/agent-name"
SECRET_TYPE = "argocd.argoproj.io/secret-type"
LOCAL = {"name": "in-cluster", "server": "https://kubernetes.default.svc"}
CREDENTIAL = f"hunter2-{uuid.uuid4().hex}"


def project(*destinations, namespaces=("*",)):
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
            "metadata": {"name": "team", "namespace": "argocd"},
            "spec": {"destinations": [{"name": d, "namespace": "*"} for d in destinations],
                     "sourceNamespaces": list(namespaces), "sourceRepos": ["*"],
                     "roles": [{"name": "reader"}]}}


def secret(name, kind, data, **labels):
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": name, "namespace": "argocd", "labels": {SECRET_TYPE: kind, **labels}},
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}


def repository():
    return secret("repo", "repository", {"project": "team", "url": "https://git.example.com/a", "password": CREDENTIAL})


def cluster(agent, **data):
    return secret(f"cluster-{agent}", "cluster", {"name": agent, **data}, **{AGENT_NAME: agent})


def keys():
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "argocd-gpg-keys-cm", "namespace": "argocd"},
            "data": {"4AEE18F83AFDEB23": "key"}}


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


def on_the_broker(text):
    """As it is or as base64."""
    return broker_holds(text.encode(), base64.b64encode(text.encode()))


class Kinds(Fleet):
    def setUp(self):
        super().setUp()
        self.here, self.there = Objects(self.hub), Objects(self.spoke)

    def certificate(self, folder):
        """A CA, and a certificate of it for agent w1."""
        ca, ca_key, key, request, cert = (folder / n for n in ("ca.pem", "ca.key", "w1.key", "w1.csr", "w1.pem"))
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", ca_key, "-out", ca, "-subj", "/CN=ca",
                "-days", "2")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", request, "-subj", "/CN=w1")
        openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", cert,
                "-days", "2")
        return ca, key, cert

    def configure(self, principal=(), agent=()):
        self.principal = Daemon("argobus-principal", self.folder / "principal",
                                {**self.principal_config(), **dict(principal)})
        self.agent = Daemon("argobus-agent", self.folder / "agent", {**self.agent_config(), **dict(agent)})

    def configure_sealed(self, **principal):
        ca, key, cert = self.certificate(self.folder)
        self.configure({"secrets": {"ca": str(ca)}, **principal}, {"secrets": {"certificate": str(cert), "key": str(key)}})

    def uncompressed(self):
        return {"kafka": {**self.principal_config()["kafka"], "compression": "none"}}

    def gone(self, kind, name):
        wait_for(f"{kind} {name} is gone at the agent", lambda: self.there.read(kind, name) is None)

    def test_a_project_arrives_as_it_is_for_the_agent_and_goes(self):
        self.here.write(project("w1", "other"))
        self.start()
        spec = wait_for("the project arrives", lambda: self.there.read("AppProject", "team"))["spec"]
        self.assertEqual(spec, {"destinations": [{"namespace": "*", **LOCAL}], "sourceRepos": ["*"]})
        self.here.write(project("other"))
        self.gone("AppProject", "team")
        self.here.write(project("w*"))
        wait_for("it is back", lambda: self.there.read("AppProject", "team"))
        self.here.write(project("w*", "!w1"))
        self.gone("AppProject", "team")

    def test_gpg_keys_arrive_and_follow(self):
        self.here.write(keys())
        self.start()
        wait_for("the keys arrive", lambda: (self.there.read("ConfigMap", "argocd-gpg-keys-cm") or {}).get("data"))
        self.here.remove("ConfigMap", "argocd-gpg-keys-cm")
        self.gone("ConfigMap", "argocd-gpg-keys-cm")

    def arrives_opened(self):
        found = wait_for("the Secret arrives", lambda: self.there.read("Secret", "repo"))
        self.assertEqual(found["data"], repository()["data"])

    def test_a_project_of_own_clusters_goes_where_the_cluster_is_its_own(self):
        self.start()
        own = project("*")
        own["spec"]["permitOnlyProjectScopedClusters"] = True
        self.here.write(cluster("w1", project="other"))
        self.here.write(own)
        self.here.write(keys())
        wait_for("what was written later arrives", lambda: self.there.read("ConfigMap", "argocd-gpg-keys-cm"))
        self.assertIsNone(self.there.read("AppProject", "team"))
        self.here.write(cluster("w1", project="team"))
        spec = wait_for("the project arrives", lambda: self.there.read("AppProject", "team"))["spec"]
        self.assertNotIn("permitOnlyProjectScopedClusters", spec)
        self.here.write(cluster("w1"))
        self.gone("AppProject", "team")

    def test_a_secret_arrives_and_goes_with_its_project(self):
        self.configure_sealed()
        self.here.write(project("w1"))
        self.here.write(repository())
        self.start()
        self.arrives_opened()
        self.here.remove("AppProject", "team")
        self.gone("Secret", "repo")

    @only_kafka("there is no broker")
    def test_no_broker_holds_a_secret(self):
        self.configure_sealed(**self.uncompressed())
        self.here.write(project("w1"))
        self.here.write(repository())
        self.start()
        self.arrives_opened()
        self.assertFalse(on_the_broker(CREDENTIAL))

    def test_a_secret_waits_for_a_certificate_that_is_trusted(self):
        (self.folder / "other").mkdir()
        _, key, cert = self.certificate(self.folder)
        other_ca, _, _ = self.certificate(self.folder / "other")
        self.configure({"secrets": {"ca": str(other_ca)}}, {"secrets": {"certificate": str(cert), "key": str(key)}})
        self.here.write(project("w1"))
        self.here.write(repository())
        self.start()
        wait_for("it waits", lambda: self.principal.metric("argobus_secrets_waiting") == 1)
        wait_for("its certificate is refused", lambda: "is not trusted" in self.principal.log.read_text())
        self.assertIsNone(self.there.read("Secret", "repo"))
        # The operator says that it is this one.
        config = yaml.safe_load(self.principal.config.read_text())
        config["agents"][0]["certificate"] = str(cert)
        self.principal.config.write_text(yaml.safe_dump(config))
        self.principal.process.send_signal(signal.SIGHUP)
        self.arrives_opened()
        wait_for("none waits", lambda: self.principal.metric("argobus_secrets_waiting") == 0)

    def test_a_certificate_that_the_operator_takes_back_with_the_agents_entry_is_used_no_more(self):
        """Whatever is wrong with another entry."""
        (self.folder / "other").mkdir()
        _, key, cert = self.certificate(self.folder)
        other_ca, _, _ = self.certificate(self.folder / "other")
        self.configure({"secrets": {"ca": str(other_ca)},
                        "agents": [{"name": "other"}, {"name": "w1", "certificate": str(cert)}]},
                       {"secrets": {"certificate": str(cert), "key": str(key)}})
        for object in (cluster("w1"), project("w1"), repository()):
            self.here.write(object)
        self.start()
        self.arrives_opened()
        config = yaml.safe_load(self.principal.config.read_text())
        config["agents"] = [{"name": "other", "certificate": "nowhere.pem"}]
        self.principal.config.write_text(yaml.safe_dump(config))
        self.principal.process.send_signal(signal.SIGHUP)
        wait_for("the Secret waits for another one", lambda: self.principal.metric("argobus_secrets_waiting") == 1)

    @only_kafka("there is no broker")
    def test_protection_must_be_switched_off_to_find_it_at_the_broker(self):
        self.configure({"secrets": {"protection": "none"}, **self.uncompressed()},
                       {"secrets": {"protection": "none"}})
        self.here.write(project("w1"))
        seen = f"clear-{uuid.uuid4().hex}"
        self.here.write(secret("repo", "repository", {"project": "team", "password": seen}))
        self.start()
        wait_for("the Secret arrives", lambda: self.there.read("Secret", "repo"))
        self.assertTrue(on_the_broker(seen))


class Mapping(Fleet):
    """Destination mapping, agents w1 and w2."""

    def setUp(self):
        super().setUp()
        self.other = Tree(self.folder / "w2")
        (self.folder / "agent2" / "data").mkdir(parents=True)
        config = {**self.agent_config(), **self.carried("w2")}
        config["agent"] = {**config["agent"], "name": "w2", "data": str(self.folder / "agent2" / "data")}
        config["store"] = {**config["store"], "directory": {"path": str(self.folder / "w2")}}
        self.second = Daemon("argobus-agent", self.folder / "agent2", config)
        self.addCleanup(self.second.kill)
        self.start()
        self.second.start()

    def principal_config(self):
        return {**super().principal_config(), "agents": [{"name": "w1"}, {"name": "w2"}], "mapping": "destination",
                "namespaces": ["team-*"]}

    def agent_config(self):
        return {**super().agent_config(), "mapping": "destination", "namespaces": ["team-*"]}

    def send(self, namespace, agent):
        app = application("guestbook", namespace=namespace)
        app["spec"]["destination"]["name"] = agent
        self.hub.write(namespace, "guestbook", app)

    def test_an_application_keeps_its_namespace_and_moves_with_its_destination(self):
        self.send("team-a", "w1")
        wait_for("it is at w1", lambda: self.spoke.read("team-a", "guestbook"))
        self.spoke.set_status("team-a", "guestbook", {"sync": {"status": "Synced"}})
        wait_for("status at the hub", lambda: self.hub.status("team-a", "guestbook"))
        self.send("team-a", "w2")
        wait_for("it is at w2", lambda: self.other.read("team-a", "guestbook"))
        wait_for("it has left w1", lambda: self.spoke.read("team-a", "guestbook") is None)
        self.other.set_status("team-a", "guestbook", {"sync": {"status": "OutOfSync"}})
        wait_for("status of w2 at the hub", lambda: self.hub.status("team-a", "guestbook") == {
            "sync": {"status": "OutOfSync"}})

    def test_an_application_of_the_principals_namespace_stands_in_the_agents(self):
        self.send("argocd", "w1")
        app = wait_for("it is at w1", lambda: self.spoke.read("argocd", "guestbook"))
        self.assertEqual(app["metadata"]["annotations"]["argocd.argoproj.io/namespace-remapped"], "true")
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "Synced"}})
        wait_for("status at the hub", lambda: self.hub.status("argocd", "guestbook"))

    def test_a_namespace_that_is_not_served_stays(self):
        self.send("other", "w1")
        self.send("team-b", "w1")
        wait_for("the served one is at w1", lambda: self.spoke.read("team-b", "guestbook"))
        self.assertIsNone(self.spoke.read("other", "guestbook"))


class Rivals(Fleet):
    """Two Applications of the hub that would stand in one place at the agent, whose own namespace is `argocd`."""

    def principal_config(self):
        config = super().principal_config()
        return {**config, "mapping": "destination", "namespaces": ["argocd"],
                "store": {**config["store"], "namespace": "control"}}

    def agent_config(self):
        return {**super().agent_config(), "mapping": "destination"}

    def test_who_was_refused_is_placed_when_the_place_is_free(self):
        self.start()
        self.hub.write("control", "guestbook", application("guestbook", "first", namespace="control"))
        self.arrives("guestbook", "first")
        self.hub.write("argocd", "guestbook", application("guestbook", "second", namespace="argocd"))
        status = wait_for("the hub says so", lambda: self.hub.status("argocd", "guestbook"))
        self.assertIn("of this name", status["conditions"][0]["message"])
        self.hub.remove("control", "guestbook")
        self.arrives("guestbook", "second")
        wait_for("nothing is wrong with it any more", lambda: not (
            self.hub.status("argocd", "guestbook") or {}).get("conditions"))


class AnotherName(Fleet):
    """What docs/operate/agents.md says of an agent that is renamed, with mapping by destination."""

    def principal_config(self):
        return {**super().principal_config(), "mapping": "destination", "agents": [{"name": "w1"}, {"name": "w2"}]}

    def agent_config(self, name="w1"):
        config = {**super().agent_config(), "mapping": "destination", **self.carried(name)}
        return {**config, "agent": {**config["agent"], "name": name}}

    def test_it_is_refused_in_place_and_follows_the_procedure(self):
        self.hub.write("argocd", "guestbook", application("guestbook", namespace="argocd"))
        self.start()
        self.arrives("guestbook", "1")
        self.agent.stop()
        self.agent.configure(self.agent_config("w2"))
        done = subprocess.run([self.agent.program, "-c", self.agent.config], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("was used by agent w1", done.stdout + done.stderr)
        for path in (self.folder / "agent" / "data").iterdir():
            path.unlink()
        self.agent.start()
        wait_for("its end is held back", lambda: self.principal.metric("argobus_deletions_held") == 1)
        self.assertEqual(revision(self.spoke.read("argocd", "guestbook")), "1")
        uid = self.spoke.sidecar("argocd", "guestbook")["uid"]

        def move(app):
            app["spec"]["destination"]["name"] = "w2"
            app["spec"]["source"]["targetRevision"] = "2"
        self.hub.edit("argocd", "guestbook", move)
        self.arrives("guestbook", "2")
        self.assertEqual(self.spoke.sidecar("argocd", "guestbook")["uid"], uid)
        wait_for("nothing is held back", lambda: self.principal.metric("argobus_deletions_held") == 0)


class AnotherMapping(Fleet):
    """What docs/operate/modes.md says of a change of the mapping."""

    def principal_config(self):
        (self.folder / "principal" / "data").mkdir(parents=True, exist_ok=True)
        return {**super().principal_config(), "principal": {"data": str(self.folder / "principal" / "data")}}

    def reconfigure(self):
        self.principal.configure({**self.principal_config(), "mapping": "destination", "namespaces": ["w1"]})
        self.agent.configure({**self.agent_config(), "mapping": "destination", "namespaces": ["w1"]})

    def assert_refused(self, daemon):
        done = subprocess.run([daemon.program, "-c", daemon.config], capture_output=True, text=True, timeout=120)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("was used with namespace", done.stdout + done.stderr)

    def test_it_is_refused_in_place_and_follows_the_procedure(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.agent.stop()
        self.principal.stop()
        self.reconfigure()
        self.assert_refused(self.principal)
        self.assert_refused(self.agent)
        self.assertEqual(revision(self.spoke.read("argocd", "guestbook")), "1")
        self.spoke.remove("argocd", "guestbook")
        for path in (*(self.folder / "agent" / "data").iterdir(), self.folder / "principal" / "data" / "mapping"):
            path.unlink()
        self.start()
        wait_for("it is in its namespace", lambda: revision(self.spoke.read("w1", "guestbook")) == "1")
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        wait_for("it follows", lambda: revision(self.spoke.read("w1", "guestbook")) == "2")
        self.spoke.set_status("w1", "guestbook", {"sync": {"status": "Synced"}})
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook"))
        self.assertIsNone(self.spoke.read("argocd", "guestbook"))
        self.hub.remove("w1", "guestbook")
        wait_for("it goes", lambda: self.spoke.read("w1", "guestbook") is None)


class ClusterSecrets(Fleet):
    """Agent w1 is known from a cluster Secret alone."""

    def principal_config(self):
        return {**super().principal_config(), "agents": []}

    def agent_series(self):
        return [line for line in (self.principal.get("/metrics") or "").splitlines() if 'agent="w1"' in line]

    def has_topics(self, count):
        """So many of the agent at the broker, if there is one."""
        return self.transport != "kafka" or len(self.topics()) == count

    def topics(self, agent="w1"):
        done = kcat("-L", "-J", capture_output=True)
        mine = tuple(f"{self.prefix}.{way}.{agent}" for way in ("down", "up"))
        return [t["topic"] for t in json.loads(done.stdout)["topics"] if t["topic"].startswith(mine)]

    def test_an_agent_comes_and_goes_with_its_secret(self):
        here = Objects(self.hub)
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.hub.write("w1", "old", application("old"))
        self.start_unserved()
        if self.transport == "grpc":
            wait_for("it hears that it is not served", lambda: "is not served" in self.agent.log.read_text())
        self.assertEqual(self.agent_series(), [])
        here.write(cluster("w1"))
        self.arrives("guestbook", "1")
        self.arrives("old", "1")
        wait_for("its series show", self.agent_series)
        wait_for("it has its topics", lambda: self.has_topics(4))
        wait_for("the store is known to have had both", lambda: self.is_compared(here))
        here.remove("Secret", "cluster-w1")
        wait_for("its series are gone", lambda: not self.agent_series())
        wait_for("its topics are gone", lambda: self.has_topics(0))
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.hub.write("w1", "new", application("new"))
        self.hub.remove("w1", "old")
        wait_for("the agent sees it", lambda: self.agent.get("/readyz") is None)
        self.assertEqual(revision(self.spoke.read("argocd", "guestbook")), "1")
        here.write(cluster("w1"))
        self.arrives("guestbook", "2")
        self.arrives("new", "1")
        wait_for("it has its topics", lambda: self.has_topics(4))
        wait_for("a resync tells what went meanwhile", lambda: self.spoke.read("argocd", "old") is None)

    def is_compared(self, here):
        """A first resync has ended, and the store's mark covers all that was said before it."""
        mark = here.read("ConfigMap", "argobus-store-mark")
        told = mark["data"].get("w1", "") if mark else ""
        return told != "" and " " not in told and not told.startswith("0.")

    @only_kafka("there are no topics")
    def test_topics_stay_when_the_principal_stops(self):
        here = Objects(self.hub)
        here.write(cluster("w1"))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start_unserved()
        self.arrives("guestbook", "1")
        self.principal.stop()
        self.assertEqual(len(self.topics()), 4)

    @only_kafka("there are no topics")
    def test_topics_that_an_administrator_makes_stay(self):
        self.principal.start()
        here = Objects(self.hub)
        here.write(cluster("w1"))
        wait_for("its topics are made", lambda: len(self.topics()) == 4)
        self.principal.stop()
        config = self.principal_config()
        self.principal.configure({**config, "kafka": {**config["kafka"], "topics": "verify"}})
        self.principal.start()
        wait_for("its series show", self.agent_series)
        here.remove("Secret", "cluster-w1")
        wait_for("its series are gone", lambda: not self.agent_series())
        self.principal.stop()
        self.assertEqual(len(self.topics()), 4)

    def keep_data(self):
        data = self.folder / "principal" / "data"
        data.mkdir()
        self.principal.configure({**self.principal_config(), "principal": {"data": str(data)}})
        return data

    def serve(self, *agents):
        """One run of a principal that serves these; their topics are there after it."""
        for agent in agents:
            Objects(self.hub).write(cluster(agent))
        self.principal.start()
        wait_for("topics are made", lambda: all(len(self.topics(agent)) == 4 for agent in agents))
        self.principal.stop()

    def take_away(self, *agents):
        for agent in agents:
            Objects(self.hub).remove("Secret", f"cluster-{agent}")

    @only_kafka("there are no topics")
    def test_who_was_taken_away_while_no_principal_ran_is_noticed(self):
        self.serve("w9")  # by a principal that notes nothing
        self.take_away("w9")
        self.keep_data()
        self.serve("w1", "w2")
        self.take_away("w1")
        self.principal.start()
        wait_for("its topics are gone", lambda: not self.topics("w1"))
        self.assertEqual((len(self.topics("w2")), len(self.topics("w9"))), (4, 4))

    @only_kafka("there are no topics")
    def test_agents_are_not_gone_while_not_everything_can_be_read(self):
        self.keep_data()
        self.serve("w1")
        path = Objects(self.hub).path("Secret", "cluster-w1")
        path.write_text("{ broken")
        self.serve("w2")  # which takes longer than to begin with a deletion
        self.assertEqual(len(self.topics("w1")), 4)

    @only_kafka("there are no topics")
    def test_many_agents_that_are_gone_at_once_are_rather_a_mistake(self):
        agents = [f"w{i}" for i in range(1, 6)]
        self.keep_data()
        self.serve(*agents)
        self.take_away(*agents)
        self.principal.start()
        wait_for("it says so", lambda: "no longer listed" in self.principal.log.read_text())
        self.principal.stop()
        self.assertEqual(len(self.topics("")), 20)

    def test_as_many_new_agents_do_not_hide_that_all_others_are_gone(self):
        here = Objects(self.hub)
        former, new = [[f"{letter}{i}" for i in range(5)] for letter in "vw"]
        self.keep_data()
        for agent in former:
            here.write(cluster(agent))
        self.principal.start()
        self.principal.stop()
        self.take_away(*former)
        for agent in new:
            here.write(cluster(agent))
        self.principal.start()
        wait_for("it says so", lambda: "no longer listed" in self.principal.log.read_text())
        self.principal.stop()
        self.principal.start()  # half of those that it has served since are gone
        self.principal.stop()
        self.assertNotIn("removed while no principal ran", self.principal.log.read_text())

    def test_those_that_were_taken_away_while_it_ran_are_no_mistake_at_the_next_start(self):
        agents = [f"w{i}" for i in range(1, 6)]
        data = self.keep_data()
        for agent in agents:
            Objects(self.hub).write(cluster(agent))
        self.principal.start()
        persisted = lambda: (data / "agents").read_text().splitlines()[1:] if (data / "agents").exists() else []  # noqa: E731
        wait_for("all are persisted", lambda: persisted() == agents)
        self.take_away(*agents[1:])
        wait_for("one is", lambda: persisted() == agents[:1])
        self.principal.stop()
        self.principal.start()
        self.principal.stop()
        self.assertNotIn("no longer listed", self.principal.log.read_text())

    def start_unserved(self):
        """The agent's topics are made when the principal serves it, so it is not ready before."""
        self.principal.start()
        self.agent.start(ready=False)

    def test_a_secret_with_an_impossible_name_is_named_and_passed_over(self):
        here = Objects(self.hub)
        bad = cluster("w1")
        bad["metadata"]["name"] = "bad"
        bad["metadata"]["labels"][AGENT_NAME] = "W_1"
        here.write(bad)
        here.write(cluster("w1"))
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start_unserved()
        self.arrives("guestbook", "1")
        wait_for("the bad one is named", lambda: "Secret/argocd/bad" in self.principal.log.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
