#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Values that cannot work are refused before anything is installed, with what is wrong, where, and what to do."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import yaml
from chart import AGENT, KAFKA, PRINCIPAL, config, helm, merged, render

GRPC_AGENT = {"role": "agent", "transport": "grpc", "agent": {"name": "w1"}, "grpc": {"address": "p.example.com:8443"},
              "tls": {"secretName": "w1"}}
GRPC_PRINCIPAL = {"role": "principal", "transport": "grpc", "tls": {"secretName": "principal"}}
OAUTH = {"mechanism": "OAUTHBEARER", "oauth": {"endpoint": "https://login.example.com/token", "clientId": "w1",
                                               "secret": {"name": "w1-oauth"}}}
DESTINATION = {"mapping": "destination"}
ISSUER = {"certManager": {"enabled": True, "issuerRef": {"name": "ca"}}}

# Values, and what the message must contain.
REFUSED = [
    # Forms: the schema
    (merged(AGENT, {"agnet": {"name": "w1"}}), ["'agnet' not allowed"]),
    (merged(AGENT, {"agent": {"nmae": "w1"}}), ["at '/agent'", "'nmae' not allowed"]),
    (merged(AGENT, {"kafka": {"sasl": {"password": "x"}}}), ["at '/kafka/sasl'", "'password' not allowed"]),
    (merged(AGENT, {"agent": {"name": "W_1"}}), ["at '/agent/name'", "'W_1' does not match"]),
    (merged(AGENT, {"agent": {"name": "w1.example"}}), ["at '/agent/name'", "does not match"]),
    (merged(AGENT, {"agent": {"name": "w" * 64}}), ["at '/agent/name'", "does not match"]),
    (merged(PRINCIPAL, {"agents": [{"name": "-w1"}]}), ["at '/agents/0/name'", "'-w1' does not match"]),
    (merged(PRINCIPAL, {"agents": [{"mode": "managed"}]}), ["at '/agents/0'", "'name'"]),
    (merged(PRINCIPAL, {"strimzi": {"agents": ["W1"]}}), ["at '/strimzi/agents/0'", "does not match"]),
    (merged(AGENT, {"agent": {"mode": "manged"}}), ["at '/agent/mode'", "'managed', 'autonomous'"]),
    (merged(AGENT, {"kafka": {"brokers": ["kafka-1.example.com"]}}), ["at '/kafka/brokers/0'", "does not match"]),
    (merged(AGENT, {"transport": "http"}), ["at '/transport'", "'kafka', 'grpc'"]),
    (merged(AGENT, {"metrics": {"port": 80}}), ["at '/metrics/port'", "1,024"]),
    (merged(AGENT, {"role": "both"}), ["at '/role'", "'principal', 'agent'"]),
    # Contradictions: the templates
    (merged(AGENT, {"commonLabels": {"app.kubernetes.io/name": "x"}}),
     ['commonLabels sets "app.kubernetes.io/name", which the chart sets itself', "remove it"]),
    (merged(AGENT, {"podLabels": {"app.kubernetes.io/instance": "x"}}),
     ['podLabels sets "app.kubernetes.io/instance", which the chart sets itself', "remove it"]),
    (merged(AGENT, {"commonLabels": {"team": "a"}, "podLabels": {"team": "b"}}),
     ['podLabels and commonLabels both set "team"', "remove one"]),
    ({}, ["role is not set: set role to principal", "or agent"]),
    (merged(AGENT, {"agent": {"name": ""}}), ["agent.name is not set: set it to"]),
    (merged(AGENT, {"agents": [{"name": "w2"}]}), ["agents is set, but role is agent", "remove it here"]),
    (merged(AGENT, {"autonomousAgents": True}), ["autonomousAgents is set, but role is agent", "remove it here"]),
    (merged(AGENT, {"strimzi": {"enabled": True, "cluster": "hub"}}),
     ["strimzi.enabled is true, but role is agent", "set it there"]),
    (merged(AGENT, {"replicas": 2}), ["replicas is 2, but role is agent", "set replicas to 1"]),
    (merged(AGENT, {"agent": {"mode": "autonomous"}, **DESTINATION}),
     ["agent.mode is autonomous, but mapping is destination", "set mapping to namespace"]),
    (merged(AGENT, {"createNamespaces": ["a"]}),
     ["createNamespaces is set, but an agent with mapping: namespace", "remove createNamespaces"]),
    (merged(AGENT, {"namespaces": ["a"]}), ["namespaces is set, but mapping is namespace", "set mapping to destination"]),
    (merged(AGENT, {"kafka": {"topics": "create"}}), ["kafka.topics is set, but role is agent", "principal's release"]),
    (merged(GRPC_AGENT, {"grpc": {"tokenKeySecret": {"name": "t"}}}),
     ["grpc.tokenKeySecret is set, but role is agent", "remove it"]),
    (merged(AGENT, {"tls": {"agentsCA": {"secretName": "ca"}}}), ["tls.agentsCA is set, but role is agent", "remove it here"]),
    (merged(AGENT, {"tls": {"certManager": {"enabled": True, "dnsNames": ["a"], "issuerRef": {"name": "ca"}}}}),
     ["tls.certManager.dnsNames is set, but role is agent", "remove it here"]),
    (merged(PRINCIPAL, {"agent": {"name": "w1"}}), ['agent.name is "w1", but role is principal', "set role to agent"]),
    (merged(PRINCIPAL, {"agents": [{"name": "w1"}, {"name": "w1"}]}), ['agents names "w1" twice', "remove one"]),
    (merged(PRINCIPAL, {"agents": [{"name": "w1", "mode": "autonomous"}]}),
     ['"w1" is autonomous, but autonomousAgents is false', "set it to true"]),
    (merged(PRINCIPAL, {"createNamespaces": ["a"]}), ["createNamespaces is set", "set autonomousAgents to true"]),
    (merged(PRINCIPAL, {"replicas": 2}), ["replicas is 2, but one principal serves all agents", "set replicas to 1"]),
    (merged(GRPC_PRINCIPAL, {"replicas": 2, "grpc": {"tokenKeySecret": {"name": "t"}}}),
     ["replicas is 2, but one principal serves all agents", "set replicas to 1"]),
    (merged(GRPC_PRINCIPAL, {"grpc": {"address": "a:1"}}),
     ["grpc.address is set, but role is principal", "set it in the agents"]),
    (merged(GRPC_PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub"}}),
     ["strimzi.enabled is true, but transport is grpc", "set transport to kafka"]),
    (merged(PRINCIPAL, {"strimzi": {"enabled": True}}),
     ["strimzi.cluster is not set", "set it to the name of the Kafka resource"]),
    (merged(PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub"}, "kafka": {"prefix": "Team_a"}}),
     ["kafka.prefix is Team_a, but strimzi.enabled is true", "set another prefix"]),
    (merged(PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub"}, "agents": [{"name": "w1"}, {"name": "principal"}]}),
     ["agents names an agent principal, but strimzi.enabled is true", "name the agent otherwise"]),
    (merged(PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub", "agents": ["w1", "principal"]}}),
     ["strimzi.agents names an agent principal, but strimzi.enabled is true", "name the agent otherwise"]),
    (merged(PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub", "replicas": 1}}),
     ["strimzi.minInsyncReplicas is 2, more than", "lower it"]),
    ({"role": "agent", "agent": {"name": "w1"}, "tls": {"secretName": "w1"}},
     ["kafka.brokers is not set, but transport is kafka", "set it to host:port"]),
    (merged(AGENT, {"grpc": {"address": "p:1"}}), ["grpc.address is set, but transport is kafka", "set transport to grpc"]),
    (merged(PRINCIPAL, {"grpc": {"tokenKeySecret": {"name": "t"}}}),
     ["grpc.tokenKeySecret is set, but transport is kafka", "remove it"]),
    (merged(AGENT, {"kafka": {"sasl": {"mechanism": "PLAIN"}}}),
     ["kafka.sasl.mechanism is PLAIN, but username or passwordSecret.name is not set", "set both"]),
    (merged(AGENT, {"kafka": {"sasl": {"mechanism": "OAUTHBEARER", "oauth": {"endpoint": "https://a/token"}}}}),
     ["endpoint, clientId or secret.name of kafka.sasl.oauth is not set", "set them"]),
    (merged(AGENT, {"kafka": {"sasl": {**OAUTH, "username": "w1"}}}),
     ["kafka.sasl has a username or a passwordSecret", "remove them"]),
    (merged(AGENT, {"kafka": {"sasl": {**OAUTH, "mechanism": "none"}}}),
     ["kafka.sasl.oauth is set, but kafka.sasl.mechanism is none", "set it to OAUTHBEARER"]),
    (merged(AGENT, {"kafka": {"sasl": {"oauth": {"endpoint": "http://a/token"}}}}), ["at '/kafka/sasl/oauth/endpoint'"]),
    (merged(AGENT, {"kafka": {"sasl": {"username": "w1"}}}), ["kafka.sasl has a username", "set kafka.sasl.mechanism"]),
    (merged(GRPC_AGENT, {"kafka": KAFKA}), ["kafka.brokers is set, but transport is grpc", "remove kafka.brokers"]),
    (merged(GRPC_AGENT, {"kafka": {"sasl": {"mechanism": "PLAIN"}}}),
     ["kafka.sasl.mechanism is set, but transport is grpc", "remove it"]),
    (merged(GRPC_AGENT, {"grpc": {"address": ""}}), ["grpc.address is not set, but transport is grpc", "set it to host:port"]),
    (merged(AGENT, {"kafka": {"insecure": True}}), ["kafka.insecure is true, but tls names", "set kafka.insecure to false"]),
    (merged(GRPC_AGENT, {"grpc": {"insecure": True}}), ["grpc.insecure is true, but tls names", "set grpc.insecure to false"]),
    (merged(AGENT, {"tls": {"secretName": ""}}), ["tls is not configured", "set tls.secretName"]),
    (merged(AGENT, {"tls": {"systemCA": True, "ca": {"secretName": "ca"}}}),
     ["tls.systemCA is true, but tls.ca.secretName is set", "remove one"]),
    (merged(AGENT, {"tls": {"certManager": {"enabled": True}}}),
     ["tls.certManager.issuerRef.name is not set", "set it to an Issuer"]),
    (merged(AGENT, {"tls": {"certManager": {"issuerRef": {"name": "ca"}}}}),
     ["tls.certManager.enabled is false", "set it to true"]),
    (merged(GRPC_AGENT, {"tls": {"secretName": "", "systemCA": True}}), ["grpc needs a certificate", "set tls.secretName"]),
    (merged(AGENT, {"live": {"exec": True}}), ["live.exec is set, but live.enabled is false", "set live.enabled to true"]),
    (merged(AGENT, {"live": {"write": True}}), ["live.write is set, but live.enabled is false", "set live.enabled to true"]),
    (merged(AGENT, {"live": {"namespaces": ["a"]}}),
     ["live.namespaces is set, but live.enabled is false", "remove live.namespaces"]),
    (merged(PRINCIPAL, {"live": {"tokensSecret": {"name": "t"}}}),
     ["live.tokensSecret or live.redis is set, but live.enabled is false", "set live.enabled"]),
    (merged(PRINCIPAL, {"live": {"enabled": True, "exec": True}}),
     ["live.exec is set, but role is principal", "agents' releases"]),
    (merged(AGENT, {"live": {"enabled": True, "tokensSecret": {"name": "t"}}}),
     ["live.tokensSecret is set, but role is agent", "set it in its release"]),
    ({"role": "principal", "kafka": {**KAFKA, "insecure": True}, "live": {"enabled": True}},
     ["the principal has no certificate", "set tls.secretName"]),
    (merged(PRINCIPAL, {"tls": {"systemCA": True}, "live": {"enabled": True}}),
     ["nobody could log in", "set live.tokensSecret.name"]),
    (merged(AGENT, {"persistence": {"enabled": False, "existingClaim": "c"}}),
     ["persistence.existingClaim is set, but persistence.enabled is false", "set it to true"]),
    (merged(GRPC_PRINCIPAL, {"registration": {"names": ["a"]}}), ["registration.enabled is false", "set it to true"]),
    (merged(GRPC_AGENT, {"registration": {"enabled": True}}), ["registration.enabled is true, but role is agent", "its release"]),
    (merged(PRINCIPAL, {"registration": {"enabled": True}}),
     ["registration.enabled is true, but transport is kafka", "argobusctl agent create"]),
    (merged(GRPC_PRINCIPAL, {"registration": {"enabled": True}}),
     ["registration.enabled is true, but live.enabled is false", "set live.enabled to true"]),
    (merged(GRPC_PRINCIPAL, {"live": {"enabled": True}, "registration": {"enabled": True}}),
     ["registration.tokenKeySecret.name is not set", "32 random bytes"]),
    (merged(GRPC_PRINCIPAL, {"live": {"enabled": True},
                             "registration": {"enabled": True, "tokenKeySecret": {"name": "t"}, "modes": ["autonomous"]}}),
     ["names autonomous, but autonomousAgents is false", "set it to true"]),
    (merged(GRPC_PRINCIPAL, {"registration": {"server": "http://a:9090"}}), ["at '/registration/server'", "does not match"]),
    (merged(PRINCIPAL, {"fleet": {"tokensSecret": {"name": "t"}}}),
     ["fleet.tokensSecret is set, but fleet.enabled is false", "set fleet.enabled"]),
    (merged(AGENT, {"fleet": {"enabled": True}}), ["fleet.enabled is true, but role is agent", "its release"]),
    ({"role": "principal", "kafka": {**KAFKA, "insecure": True}, "fleet": {"enabled": True, "tokensSecret": {"name": "t"}}},
     ["fleet.tokensSecret is set, but the principal has no certificate", "set tls.secretName"]),
    # What `config` may not decide, or contain
    (merged(AGENT, {"config": {"transport": "grpc"}}), ["config.transport is set", "set transport"]),
    (merged(AGENT, {"config": {"agent": {"name": "w2"}}}), ["config.agent.name is set", "set agent.name"]),
    (merged(AGENT, {"config": {"live": {"exec": True}}}), ["config.live.exec is set", "set live.exec"]),
    (merged(PRINCIPAL, {"config": {"fleet": {"listen": ":8090"}}}), ["config.fleet.listen is set", "set fleet.enabled"]),
    (merged(GRPC_PRINCIPAL, {"config": {"registration": {"enabled": True}}}),
     ["config.registration.enabled is set", "set registration"]),
    (merged(AGENT, {"config": {"http": {"address": ":1"}}}), ["config.http.address is set", "set metrics.port"]),
    (merged(AGENT, {"config": {"kafka": {"sasl": {"password": "secret-word"}}}}),
     ["config.kafka.sasl is set", "set kafka.sasl"]),
    (merged(AGENT, {"config": {"kafka": {"librdkafka": {"ssl.key.password": "secret-word"}}}}),
     ["config.kafka.librdkafka.ssl.key.password is a secret", "extraEnv"]),
    (merged(AGENT, {"config": {"kafka": {"librdkafka": {"ssl": {"keystore": {"password": "secret-word"}}}}}}),
     ["config.kafka.librdkafka.ssl.keystore.password is a secret", "extraEnv"]),
]


class Refused(unittest.TestCase):
    def test_values_that_cannot_work_are_refused_with_what_to_do(self):
        for values, parts in REFUSED:
            with self.subTest(parts[0]):
                done = helm(values)
                self.assertNotEqual(done.returncode, 0)
                for part in parts:
                    self.assertIn(part, done.stderr)
                self.assertNotIn("secret-word", done.stderr)
                self.assertNotIn("nil pointer", done.stderr)

    def test_what_they_differ_from_is_taken(self):
        for values in (AGENT, PRINCIPAL, GRPC_AGENT, GRPC_PRINCIPAL, merged(AGENT, {"tls": ISSUER}),
                       merged(PRINCIPAL, {"strimzi": {"enabled": True, "cluster": "hub", "agents": ["w1"]}}),
                       merged(PRINCIPAL, {"agents": [{"name": "principal"}]})):
            self.assertTrue(render(values))

    def test_what_argobusctl_writes_for_an_agent_is_taken(self):
        ctl = pathlib.Path(os.environ["AB_BIN"], "argobusctl")
        with tempfile.TemporaryDirectory() as folder:
            for command in (["pki", "init", "--ca-dir", "ca"], ["agent", "create", "w1", "--brokers", "a:9093"],
                            ["agent", "create", "w2", "--transport", "grpc", "--address", "p:8443", "--mode", "autonomous"]):
                subprocess.run([ctl, *command], cwd=folder, check=True, capture_output=True)
            for name in ("w1", "w2"):
                values = yaml.safe_load(pathlib.Path(folder, name, "values.yaml").read_text())
                self.assertIn(f"name: {name}", config(render(values)))

    def test_an_upgrade_never_runs_two_principals(self):
        for values in (PRINCIPAL, GRPC_PRINCIPAL):
            works = [o for o in render(merged(values, {"persistence": {"enabled": False}})) if o["kind"] == "Deployment"]
            self.assertEqual([o["spec"]["strategy"] for o in works], [{"type": "Recreate"}])


if __name__ == "__main__":
    unittest.main()
