#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the chart grants is what deploy/kubernetes/rbac grants, under which the end-to-end tests run; and what it makes for
Strimzi is what deploy/kafka/strimzi makes. And what agent-live.yaml says of its rules is so."""
import re
import unittest

import yaml
from chart import AGENT, PRINCIPAL, ROOT, merged, one, render

REGISTRATION = {"role": "principal", "transport": "grpc", "tls": {"secretName": "principal"}, "live": {"enabled": True},
                "registration": {"enabled": True, "tokenKeySecret": {"name": "token"}}}
RBAC = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")


def by_key(manifests, kinds):
    """Without what differs from release to release: labels."""
    found = {}
    for o in manifests:
        if o["kind"] in kinds:
            metadata = {key: value for key, value in o["metadata"].items() if key != "labels"}
            found[o["kind"], metadata["name"]] = {**o, "metadata": metadata}
    return found


def files(folder, *names):
    return [o for name in names for o in yaml.safe_load_all((ROOT / folder / f"{name}.yaml").read_text())]


class Equal(unittest.TestCase):
    def check(self, values, *names):
        self.maxDiff = None
        self.assertEqual(by_key(render(values), RBAC), by_key(files("deploy/kubernetes/rbac", *names), RBAC))

    def test_an_agent(self):
        self.check(AGENT, "agent")

    def test_an_agent_with_mapping_destination(self):
        self.check(merged(AGENT, {"mapping": "destination", "createNamespaces": ["team-*"]}), "agent", "agent-destination")

    def test_an_agent_with_live_access(self):
        self.check(merged(AGENT, {"live": {"enabled": True, "write": True, "exec": True}}), "agent", "agent-live")

    def test_a_principal(self):
        self.check(PRINCIPAL, "principal")

    def test_a_principal_with_autonomous_agents(self):
        values = merged(PRINCIPAL, {"autonomousAgents": True, "createNamespaces": ["*"]})
        self.check(values, "principal", "principal-autonomous")

    def test_a_principal_with_which_agents_register(self):
        self.check(REGISTRATION, "principal", "principal-registration")

    def test_an_autonomous_agent_needs_what_a_managed_one_needs(self):
        self.check(merged(AGENT, {"agent": {"mode": "autonomous"}}), "agent")

    def test_strimzi(self):
        values = merged(PRINCIPAL, {"agents": [{"name": "w1"}], "strimzi": {"enabled": True, "cluster": "hub"}})
        kinds = ("KafkaTopic", "KafkaUser")
        expected = files("deploy/kafka/strimzi", "agent", "principal")
        rendered = render(values)
        self.assertEqual(by_key(rendered, kinds), {key: {**o, "metadata": {**o["metadata"], "namespace": "argocd"}}
                                                   for key, o in by_key(expected, kinds).items()})
        self.assertEqual(one(rendered, "KafkaUser", "w1")["metadata"]["labels"], {"strimzi.io/cluster": "hub"})


class Less(unittest.TestCase):
    """What was not asked for is not granted."""

    def rules(self, values):
        return [rule for o in render(values) if o["kind"] in ("Role", "ClusterRole") for rule in o["rules"]]

    def test_no_namespaces_are_created_without_patterns(self):
        for values in (merged(AGENT, {"mapping": "destination"}), merged(PRINCIPAL, {"autonomousAgents": True})):
            self.assertEqual([r for r in self.rules(values) if "namespaces" in r["resources"]], [])

    def test_no_secret_is_written_unless_agents_register(self):
        writes = [r for r in self.rules(merged(REGISTRATION, {"registration": {"enabled": False, "tokenKeySecret": {"name": ""}}}))
                  if "secrets" in r["resources"] and set(r["verbs"]) - {"get", "list", "watch"}]
        self.assertEqual(writes, [])

    def test_live_access_that_only_looks_changes_nothing(self):
        role = one(render(merged(AGENT, {"live": {"enabled": True}})), "ClusterRole", "argobus-agent-live")
        self.assertEqual([rule["verbs"] for rule in role["rules"]], [["get", "list", "watch"]])

    def test_live_access_to_some_namespaces_is_bound_there_only(self):
        manifests = render(merged(AGENT, {"live": {"enabled": True, "namespaces": ["a", "b"]}}))
        self.assertEqual([o["metadata"]["namespace"] for o in manifests if o["kind"] == "RoleBinding" and
                          o["roleRef"]["name"] == "argobus-agent-live"], ["a", "b"])
        self.assertEqual([o for o in manifests if o["kind"] == "ClusterRoleBinding"], [])

    def test_without_rbac_there_is_the_account_only(self):
        manifests = render(merged(AGENT, {"rbac": {"create": False}}))
        self.assertEqual([o["kind"] for o in manifests if o["kind"] in RBAC], ["ServiceAccount"])


def has(names, name):
    return "*" in names or name in names


class Said(unittest.TestCase):
    """agent-live.yaml says what each of its rules allows, so that an operator knows what to take out."""

    def setUp(self):
        text = (ROOT / "deploy/kubernetes/rbac/agent-live.yaml").read_text()
        self.said = " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
        self.rules = next(yaml.safe_load_all(text))["rules"]

    def granting(self, verb, resource, group=""):
        """The numbers of the rules that allow it."""
        return [number for number, rule in enumerate(self.rules) if has(rule["verbs"], verb) and
                has(rule["resources"], resource) and has(rule["apiGroups"], group)]

    def test_what_get_of_everything_includes_is_named(self):
        named = re.findall(r"`get` of (\w+/\w+)", self.said)
        self.assertEqual(named, ["pods/exec", "nodes/proxy"], "what leads into containers")
        for resource in named:
            self.assertIn(0, self.granting("get", resource), f"the first rule has no {resource}: do not say that it has")

    def test_the_last_rule_is_for_terminals_and_only_the_second_changes_objects(self):
        changes = {number for verb in ("create", "update", "patch", "delete", "deletecollection")
                   for rule in self.rules for resource in rule["resources"] for group in rule["apiGroups"]
                   for number in self.granting(verb, resource, group)}
        self.assertEqual(self.granting("create", "pods/exec"), [2])
        self.assertEqual((len(self.rules), changes), (3, {1, 2}))
        self.assertEqual(self.rules[2]["resources"], ["pods/exec"])
        self.assertIn("without the last rule there are no terminals from Kubernetes 1.35 on", self.said)


if __name__ == "__main__":
    unittest.main()
