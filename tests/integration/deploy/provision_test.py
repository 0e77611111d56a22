#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/kafka: what `provision` makes on a real broker, and that the Strimzi resources say the same."""
import os
import pathlib
import tempfile
import unittest

import yaml

import broker
from daemons import Daemon, Tree, broker_ports

PREFIX = "deploytest"


def provision(*arguments, **environment):
    env = broker.environment(**{"PREFIX": PREFIX, **environment})
    return broker.run(os.path.join(broker.ROOT, "deploy/kafka/provision"), *arguments, env=env)


def strimzi(name):
    path = os.path.join(broker.ROOT, "deploy/kafka/strimzi", name)
    with open(path, encoding="utf-8") as f:
        return [r for r in yaml.safe_load_all(f.read().replace("argobus.", f"{PREFIX}.")) if r]


def topics():
    return broker.topics(PREFIX)


def acls(user):
    return broker.acls(user, PREFIX)


def strimzi_acls(user_resource):
    return {(a["resource"]["type"], a["resource"]["name"], a["resource"]["patternType"] + (
        "ed" if a["resource"]["patternType"] == "prefix" else ""), o.lower())
            for a in user_resource["spec"]["authorization"]["acls"] for o in a["operations"]}


class Provision(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for arguments in (("agent", "w1"), ("principal",)):
            done = provision(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr

    def test_makes_the_topics_that_strimzi_would(self):
        resources = [r for r in strimzi("agent.yaml") if r["kind"] == "KafkaTopic"]
        self.assertEqual(len(resources), 4)
        there = topics()
        for resource in resources:
            made = there[resource["metadata"]["name"]]
            self.assertEqual(made["partitions"], str(resource["spec"]["partitions"]))
            for key, value in resource["spec"]["config"].items():
                wanted = "1" if key == "min.insync.replicas" else str(value)  # one broker only
                self.assertEqual(made[key], wanted, f"{resource['metadata']['name']} {key}")

    def test_a_principal_makes_the_same_ones(self):
        with tempfile.TemporaryDirectory(prefix="argobus-test-") as folder:
            store = Tree(pathlib.Path(folder, "hub")).folder
            kafka = {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "prefix": f"{PREFIX}.made",
                     "topics": "create", "replication-factor": 1}
            principal = Daemon("argobus-principal", folder, {
                "agents": [{"name": "w1"}], "transport": "kafka", "kafka": kafka,
                "store": {"kind": "directory", "namespace": "argocd", "directory": {"path": str(store)}}})
            self.addCleanup(principal.kill)
            principal.start()
            principal.stop()
        there = topics()
        made = {name: configs for name, configs in there.items() if name.startswith(f"{PREFIX}.made.")}
        self.addCleanup(broker.run, "kafka-topics.sh", "--delete", "--topic", f"{PREFIX}[.]made[.].*",
                        env=broker.environment())
        self.assertEqual(len(made), 4)
        for name, configs in made.items():
            self.assertEqual(configs, there[name.replace(".made.", ".")], name)

    def test_gives_the_rights_that_strimzi_would(self):
        agent = [r for r in strimzi("agent.yaml") if r["kind"] == "KafkaUser"][0]
        self.assertEqual(acls("w1"), strimzi_acls(agent))
        self.assertEqual(acls("principal"), strimzi_acls(strimzi("principal.yaml")[0]))

    def test_agent_writes_up_and_reads_down(self):
        done = broker.kcat("w1", "-P", "-K:", "-t", f"{PREFIX}.up.w1.state", text="key:status")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = broker.kcat("principal", "-P", "-K:", "-t", f"{PREFIX}.down.w1.state", text="key:spec")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = broker.kcat("w1", "-C", "-e", "-t", f"{PREFIX}.down.w1.state")
        self.assertEqual(done.stdout, "spec\n")

    def test_agent_cannot_write_its_own_orders(self):
        done = broker.kcat("w1", "-P", "-K:", "-t", f"{PREFIX}.down.w1.state", text="key:spec")
        self.assertIn("authorization failed", done.stderr)

    def test_agent_cannot_see_one_whose_name_begins_like_its_own(self):
        for topic in (f"{PREFIX}.down.w10.state", f"{PREFIX}.up.w10.state"):
            done = broker.kcat("w1", "-C", "-e", "-t", topic)
            self.assertIn("authorization failed", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_may_be_run_again(self):
        done = provision("agent", "w1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_finds_a_broker_where_the_first_is_away(self):
        done = provision("agent", "w1", BOOTSTRAP=f"127.0.0.1:1,127.0.0.1:{broker_ports()['plain']}")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_names_that_are_none_are_refused(self):
        for name in ("w.1", "W1", "w_1", "-w", ""):
            done = provision("agent", name)
            self.assertEqual(done.returncode, 1, name)
            self.assertIn("is not a name for an agent", done.stderr)

    def test_an_agent_never_gets_the_principals_user(self):
        for name, environment in (("principal", {}), ("w2", {"KAFKA_USER": "principal"})):
            rights = acls("principal")
            for command in ("agent", "remove"):
                done = provision(command, name, **environment)
                self.assertEqual(done.returncode, 1, name)
                self.assertIn("the Kafka user 'principal' is the control plane's", done.stderr)
            self.assertEqual(acls("principal"), rights)

    def test_says_what_is_missing(self):
        self.assertIn("set BOOTSTRAP", provision("agent", "w1", BOOTSTRAP="").stderr)
        self.assertIn("set KAFKA_BIN", provision("agent", "w1", KAFKA_BIN="/nowhere").stderr)

    def test_says_what_kafka_refuses(self):
        """The tool for ACLs says it on standard output."""
        with tempfile.NamedTemporaryFile("w", suffix=".properties") as login:
            login.write("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PEM\n"
                        f"ssl.truststore.location={broker.HOME}/tls/ca.crt\n"
                        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
                        'username="oslo" password="oslo-secret";\n')
            login.flush()
            done = provision("principal", BOOTSTRAP=f"127.0.0.1:{broker_ports()['sasl']}", COMMAND_CONFIG=login.name)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("cannot add rights of User:principal: ", done.stderr)
        self.assertIn("ClusterAuthorizationException", done.stderr)

    def test_a_user_may_be_the_whole_subject_of_a_certificate(self):
        """As brokers have it that map no subject."""
        user = "CN=w8,O=Example"
        env = {"PREFIX": f"{PREFIX}.x", "KAFKA_USER": user}
        done = provision("agent", "w8", **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(broker.acls(user, f"{PREFIX}.x")), 7)
        done = provision("remove", "w8", **env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(broker.acls(user, f"{PREFIX}.x"), set())

    def test_remove_takes_only_what_is_there_and_the_agents(self):
        """kafka-topics.sh takes an expression, to which a dot is any letter. And w7 has no quota, which is no error."""
        other = f"{PREFIX}-x.down.w7.state"
        env = broker.environment()
        done = broker.run("kafka-topics.sh", "--create", "--topic", other, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(broker.run, "kafka-topics.sh", "--delete", "--topic", other, env=env)
        done = provision("remove", "w7", PREFIX=f"{PREFIX}.x")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(list(broker.topics(f"{PREFIX}-x")), [other])

    def test_z_remove_takes_everything_of_the_agent_away(self):
        done = provision("remove", "w1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(topics(), {})
        self.assertEqual(acls("w1"), set())
        self.assertNotEqual(acls("principal"), set())


if __name__ == "__main__":
    unittest.main()
