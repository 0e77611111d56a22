#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every combination of role, transport, mode, mapping, live access and certificates: Helm renders it, a real API server takes
each manifest (server-side dry run, unknown fields refused), and the program takes the configuration.

The environment is as tests/support/kube/kube.cmake sets it, with HELM_DEV, STRIMZI_DEV, AB_BIN and AB_GRPC_CERTS.
"""
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml
from chart import AGENT, KAFKA, PRINCIPAL, ROOT, config, merged, one, render
from documented import commands
from strimzi_test import apply_crds, kubectl
from waiting import wait_for

CERTIFICATES = {
    "secret": {"tls": {"secretName": "own"}},
    "strimzi": {"tls": {"secretName": "own", "certKey": "user.crt", "keyKey": "user.key",
                        "ca": {"secretName": "hub-cluster-ca-cert"}}},
    "cert-manager": {"tls": {"certManager": {"enabled": True, "issuerRef": {"name": "argobus"}}}},
    "insecure": {},
}
LIVE = {
    "none": {},
    "read": {"live": {"enabled": True}},
    "all": {"live": {"enabled": True, "redis": {"enabled": True, "passwordSecret": {"name": "argocd-redis"}}}},
}
MAPPING = {"namespace": {}, "destination": {"mapping": "destination", "namespaces": ["team-*"]}}
FIXED = ("runAsUser", "runAsGroup", "fsGroup")
EXTRAS = {"podDisruptionBudget": {"enabled": True}, "metrics": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}},
          "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}


def combinations():
    """A name and values each. What cannot be combined, chart_values_test.py shows to be refused."""
    for role, transport, autonomous, mapping, live, certificates in itertools.product(
            ("principal", "agent"), ("kafka", "grpc"), (False, True), MAPPING, LIVE, CERTIFICATES):
        agent = role == "agent"
        if agent and autonomous and mapping == "destination":
            continue
        if not agent and certificates == "insecure" and live != "none":
            continue
        values = {**EXTRAS, "role": role, "transport": transport}
        for more in (MAPPING[mapping], LIVE[live], CERTIFICATES[certificates]):
            values = merged(values, more)
        if transport == "kafka":
            values = merged(values, {"kafka": KAFKA})
        elif agent:
            values = merged(values, {"grpc": {"address": "principal.example.com:8443"}})
        if certificates == "insecure":
            values = merged(values, {transport: {"insecure": True}})
        more = of_agent(autonomous, mapping, live, certificates) if agent else of_principal(autonomous, transport, live)
        values = merged(values, more)
        yield f"{role} {transport} {autonomous=} {mapping} live={live} {certificates}", values


def of_agent(autonomous, mapping, live, certificates):
    values = {"agent": {"name": "w1", "mode": "autonomous" if autonomous else "managed"}}
    if mapping == "destination":
        values["createNamespaces"] = ["team-*"]
    if live == "all":
        values["live"] = {"write": True, "exec": True, "namespaces": ["default", "team-a"]}
    if certificates == "insecure":
        values["config"] = {"secrets": {"protection": "none"}, "live": {"protection": "none"}}
    return values


def of_principal(autonomous, transport, live):
    values = {"autonomousAgents": autonomous, "agents": [{"name": "w1"}, {"name": "w2", "mode": "managed"}],
              "strimzi": {"enabled": transport == "kafka", "cluster": "hub", "agents": ["w3"]}}
    if autonomous:
        values["createNamespaces"] = ["w-*"]
    if live == "all":
        values["live"] = {"tokensSecret": {"name": "live-tokens"}}
        values["fleet"] = {"enabled": True, "tokensSecret": {"name": "fleet-tokens"}}
    if live == "read":
        values["fleet"] = {"enabled": True}
    if live != "none" and transport == "grpc":
        values["registration"] = {"enabled": True, "tokenKeySecret": {"name": "registration"}, "names": ["edge-*"],
                                  "labels": ["region"],
                                  "approval": "manual", "modes": ["managed", "autonomous"] if autonomous else []}
    return values


class Combinations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.values = dict(combinations())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            cls.rendered = dict(zip(cls.values, pool.map(render, cls.values.values()), strict=True))

    def test_an_api_server_takes_every_manifest(self):
        crds = subprocess.run([os.environ["HELM_DEV"], "crds"], check=True, text=True, stdout=subprocess.PIPE)
        done = kubectl("apply", "--server-side", "-f", crds.stdout.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        apply_crds(self)
        # kubectl fails at once on a CRD that has no conditions yet.
        established = ("wait", "--for=condition=Established", "--timeout=60s", "-f", crds.stdout.strip())
        wait_for("the CRDs are established", lambda: kubectl(*established).returncode == 0)
        for namespace in ("default", "team-a"):  # those of live.namespaces
            kubectl("create", "namespace", namespace)
        different = {json.dumps(o, sort_keys=True): o for manifests in self.rendered.values() for o in manifests}
        done = kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-",
                       text=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(different.values())}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), len(different))

    def test_the_program_takes_every_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            self.lay_out(pathlib.Path(folder))
            files = {}
            for name, manifests in self.rendered.items():
                files.setdefault((self.values[name]["role"], config(manifests)), name)
            for (role, text), name in files.items():
                with self.subTest(name):
                    path = pathlib.Path(folder, "config.yaml")
                    path.write_text(text.replace("/etc/argobus", f"{folder}/{role}").replace("/var/lib/argobus", folder))
                    program = pathlib.Path(os.environ["AB_BIN"], f"argobus-{role}")
                    done = subprocess.run([program, "-c", path, "--check-config"], text=True, capture_output=True,
                                          env={**os.environ, "KUBECONFIG": os.environ["AB_KUBECONFIG"]})
                    self.assertEqual(done.returncode, 0, f"{done.stderr}\n{text}")

    def lay_out(self, folder):
        """The files that a pod has mounted."""
        certs = pathlib.Path(os.environ["AB_GRPC_CERTS"])
        (folder / "data").mkdir()
        for role, name in (("principal", "server"), ("agent", "w1")):
            for sub in ("tls", "live", "redis", "fleet", "registration"):
                (folder / role / sub).mkdir(parents=True)
            shutil.copy(certs / "ca.crt", folder / role / "tls/ca.crt")
            shutil.copy(certs / f"{name}.crt", folder / role / "tls/tls.crt")
            shutil.copy(certs / f"{name}.key", folder / role / "tls/tls.key")
            (folder / role / "live/tokens").write_text("q6b0YlJ1H2c4bUO0kzA5Zx w1\n")
            (folder / role / "redis/password").write_text("secret\n")
            (folder / role / "fleet/tokens").write_text("q6b0YlJ1H2c4bUO0kzA5Zx *\n")
            (folder / role / "registration/token.key").write_bytes(bytes(range(32)))

    def test_every_pod_is_restricted(self):
        for name, manifests in self.rendered.items():
            with self.subTest(name):
                workload = [o for o in manifests if o["kind"] in ("StatefulSet", "Deployment")]
                self.assertEqual(len(workload), 1)
                pod = workload[0]["spec"]["template"]["spec"]
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                for container in pod["containers"]:
                    self.assertEqual(container["securityContext"], {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})


class Migration(unittest.TestCase):
    """docs/migrate-from-argocd-agent.md, where the chart takes argocd-agent's place."""

    def values(self, role):
        page = (ROOT / "docs/migrate-from-argocd-agent.md").read_text()
        return yaml.safe_load(re.search(rf"^```yaml\n(# {role}-values\.yaml\n.*?)^```\n", page, re.MULTILINE | re.DOTALL)[1])

    def test_its_secrets_are_mounted_and_its_version_is_shown(self):
        for role, own, key in (("principal", "argocd-agent-principal-tls", "tls.crt"), ("agent", "argocd-agent-client-tls", "ca.crt")):
            manifests = render(self.values(role))
            options = yaml.safe_load(config(manifests))
            self.assertEqual(options["grpc"]["peer-version"], "v0.10.0")
            volume = next(v for v in one(manifests, "StatefulSet")["spec"]["template"]["spec"]["volumes"] if v["name"] == "tls")
            self.assertEqual([s["secret"]["name"] for s in volume["projected"]["sources"]], [own, "argocd-agent-ca"])
            self.assertEqual(volume["projected"]["sources"][1]["secret"]["items"], [{"key": key, "path": "ca.crt"}])

    def test_its_service_leads_to_argobus_and_back(self):
        selector = {"app.kubernetes.io/name": "argocd-agent-principal"}  # as install/kubernetes/principal of argocd-agent makes it
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "argocd-agent-principal", "namespace": "argocd"},
                   "spec": {"ports": [{"name": "https", "port": 443, "targetPort": 8443}], "selector": selector}}
        self.addCleanup(kubectl, "delete", "-n", "argocd", "service", "argocd-agent-principal", "--ignore-not-found")
        done = kubectl("apply", "-f", "-", text=json.dumps(service))
        self.assertEqual(done.returncode, 0, done.stderr)
        there, back = commands("docs/migrate-from-argocd-agent.md", by="tests/integration/deploy/chart_test.py")
        pods = one(render(self.values("principal")), "StatefulSet")["spec"]
        self.assertEqual(self.selector_after(there), pods["selector"]["matchLabels"])
        self.assertIn(8443, [port["containerPort"] for port in pods["template"]["spec"]["containers"][0]["ports"]])
        self.assertEqual(self.selector_after(back), selector)

    def selector_after(self, block):
        text = block.text.replace("kubectl --context hub", f"{os.environ['KUBE_DEV']} kubectl test")
        subprocess.run(["bash", "-euc", text], check=True, capture_output=True, timeout=120)
        return json.loads(kubectl("get", "-n", "argocd", "service", "argocd-agent-principal", "-o", "json").stdout)["spec"]["selector"]


def scalars(value):
    """All that a manifest says, without what it is called."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return [value]
    return [scalar for part in value for scalar in scalars(part)]


class Details(unittest.TestCase):
    def test_options_of_config_reach_the_file_beside_those_of_the_values(self):
        text = config(render(merged(AGENT, {"config": {"kafka": {"compression": "zstd"}, "agent": {"adoption": "never"}}})))
        self.assertIn("compression: zstd", text)
        self.assertIn("adoption: never", text)
        self.assertIn("kafka-2.example.com:9094", text)

    def test_another_configuration_restarts_the_pod(self):
        def checksum(values):
            return one(render(values), "StatefulSet")["spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        self.assertEqual(checksum(AGENT), checksum(AGENT))
        self.assertNotEqual(checksum(AGENT), checksum(merged(AGENT, {"config": {"log": {"level": "debug"}}})))

    def test_a_pod_is_given_more_time_than_an_orderly_stop_may_take(self):
        for timeout, seconds in (("30s", 45), ("2m", 135), ("1h", 3615), ("1500ms", 16)):
            pod = one(render(merged(AGENT, {"config": {"stop": {"timeout": timeout}}})), "StatefulSet")["spec"]["template"]["spec"]
            self.assertEqual(pod["terminationGracePeriodSeconds"], seconds)

    def test_a_principal_without_a_folder_is_a_deployment_that_never_runs_twice(self):
        deployment = one(render(merged(PRINCIPAL, {"persistence": {"enabled": False}})), "Deployment")
        self.assertEqual(deployment["spec"]["strategy"], {"type": "Recreate"})

    def test_an_agent_without_a_claim_is_still_a_stateful_set(self):
        spec = one(render(merged(AGENT, {"persistence": {"enabled": False}})), "StatefulSet")["spec"]
        self.assertNotIn("volumeClaimTemplates", spec)
        self.assertIn({"name": "data", "emptyDir": {}}, spec["template"]["spec"]["volumes"])

    def test_nothing_but_metrics_of_an_agent_can_be_reached(self):
        policy = one(render(merged(AGENT, {"live": {"enabled": True}})), "NetworkPolicy")["spec"]
        self.assertEqual([rule["ports"] for rule in policy["ingress"]], [[{"port": "metrics"}]])
        self.assertEqual({p["port"] for p in policy["egress"][0]["ports"]}, {53, 5353, 443, 6443, 9093, 9094})

    def test_dns_pods_are_reached_where_they_listen(self):
        """A policy is about the pod's port, not the Service's: on OpenShift 5353."""
        def dns(values):
            egress = one(render(values), "NetworkPolicy")["spec"]["egress"][0]["ports"]
            return {(p["port"], p["protocol"]) for p in egress if p["port"] in (53, 1053, 5353)}
        self.assertEqual(dns(AGENT), {(port, protocol) for port in (53, 5353) for protocol in ("UDP", "TCP")})
        self.assertEqual(dns(merged(AGENT, {"networkPolicy": {"dnsPorts": [1053]}})), {(1053, "UDP"), (1053, "TCP")})

    def test_openshift_chooses_user_and_groups(self):
        def context(values, *args):
            return one(render(values, *args), "StatefulSet")["spec"]["template"]["spec"]["securityContext"]
        usual = context(AGENT)
        self.assertEqual([usual[key] for key in FIXED], [65532] * 3)
        rest = {key: value for key, value in usual.items() if key not in FIXED}
        self.assertEqual(rest["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertTrue(rest["runAsNonRoot"])
        self.assertEqual(context(AGENT, "--api-versions", "security.openshift.io/v1"), rest)
        self.assertEqual(context(merged(AGENT, {"podSecurityContext": dict.fromkeys(FIXED)})), rest)
        self.assertEqual(context(merged(AGENT, {"podSecurityContext": {"runAsUser": 1000}}))["runAsUser"], 1000)

    def test_labels_and_annotations_of_all_are_on_every_object(self):
        more = {"commonLabels": {"team": "gitops", "cost-center": "12"}, "commonAnnotations": {"owner": "12", "note": "a: <b>"},
                "podLabels": {"pod": "x"}, "serviceAccount": {"annotations": {"own": "x"}}, "service": {"annotations": {"own": "x"}}}
        for name, values in combinations():
            if "live=all" not in name or "cert-manager" not in name:
                continue
            with self.subTest(name):
                own = {"live": {"redis": {"enabled": True}}, "service": {"type": "NodePort"}} if "principal" in name else {}
                for o in render(merged(merged(values, more), own)):
                    metadata = o["metadata"]
                    self.assertLessEqual(more["commonLabels"].items(), metadata["labels"].items(), o["kind"])
                    self.assertLessEqual(more["commonAnnotations"].items(), metadata["annotations"].items(), o["kind"])
                    if o["kind"] == "ServiceAccount":
                        self.assertEqual(metadata["annotations"]["own"], "x")
                    if o["kind"] in ("StatefulSet", "Deployment"):
                        pod = o["spec"]["template"]["metadata"]["labels"]
                        self.assertLessEqual({**more["commonLabels"], **more["podLabels"]}.items(), pod.items())
                        self.assertNotIn("team", o["spec"]["selector"]["matchLabels"])  # it cannot change

    def test_the_fleet_page_leaves_the_pod_only_with_tokens(self):
        def ports(fleet):
            manifests = render(merged(PRINCIPAL, {"fleet": fleet}))
            services = [p["name"] for o in manifests if o["kind"] == "Service" for p in o["spec"]["ports"]]
            policy = one(manifests, "NetworkPolicy")["spec"]["ingress"]
            return yaml.safe_load(config(manifests))["fleet"], services, [p["port"] for rule in policy for p in rule["ports"]]
        self.assertEqual(ports({"enabled": True}), ({"listen": ":8090"}, ["metrics"], ["metrics"]))
        options, services, reached = ports({"enabled": True, "port": 9999, "tokensSecret": {"name": "t"}})
        self.assertEqual((services, reached), (["metrics", "fleet"], ["metrics", "fleet"]))
        self.assertEqual(options, {"listen": "*:9999", "tokens": "/etc/argobus/fleet/tokens",
                                   "tls": {"cert": "/etc/argobus/tls/tls.crt", "key": "/etc/argobus/tls/tls.key"}})

    def test_live_access_takes_certificates_only_where_nobody_has_a_token(self):
        values = {"role": "principal", "transport": "grpc", "tls": {"secretName": "principal"}, "live": {"enabled": True}}
        tokens = {"live": {"tokensSecret": {"name": "live-tokens"}}}
        registration = {"registration": {"enabled": True, "tokenKeySecret": {"name": "registration"}}}
        for more, authorities in (({}, "/etc/argobus/tls/ca.crt"), (tokens, None), (registration, None),
                                  (merged(registration, {"tls": {"systemCA": True}}), None)):
            resource = yaml.safe_load(config(render(merged(values, more))))["live"]["resource"]
            self.assertEqual(resource.get("tls", {}).get("ca"), authorities, more)

    def test_nobody_but_argo_cd_reaches_redis_through_the_principal(self):
        values = {"role": "principal", "transport": "grpc", "tls": {"secretName": "principal"}, "argocd": {"namespace": "argo"},
                  "live": {"enabled": True, "redis": {"enabled": True}}}
        shown = {}
        for kind in ("ClusterIP", "NodePort", "LoadBalancer"):
            manifests = render(merged(values, {"service": {"type": kind}}))
            for service in (o["spec"] for o in manifests if o["kind"] == "Service"):
                shown.setdefault(service.get("type"), set()).update(port["name"] for port in service["ports"])
            rules = one(manifests, "NetworkPolicy")["spec"]["ingress"]
            self.assertEqual([rule.get("from") for rule in rules if {"port": "redis"} in rule["ports"]],
                             [[{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "argo"}}}]])
            self.assertIn({"ports": [{"port": "live"}]}, rules)
        self.assertEqual(shown, {None: {"metrics"}, "ClusterIP": {"grpc", "live", "redis"}, "NodePort": {"grpc", "live"},
                                 "LoadBalancer": {"grpc", "live"}})
        redis = one(manifests, "Service", "argobus-principal-redis")["spec"]
        self.assertEqual((redis["type"], redis["ports"]), ("ClusterIP", [{"name": "redis", "port": 6379, "targetPort": "redis"}]))

    def test_a_broker_password_is_a_file_of_a_secret(self):
        manifests = render(merged(AGENT, {"kafka": {"sasl": {"mechanism": "SCRAM-SHA-512", "username": "w1",
                                                            "passwordSecret": {"name": "w1-password"}}}}))
        self.assertIn("password-file: /etc/argobus/kafka/password", config(manifests))
        pod = one(manifests, "StatefulSet")["spec"]["template"]["spec"]
        self.assertIn({"name": "kafka", "mountPath": "/etc/argobus/kafka", "readOnly": True}, pod["containers"][0]["volumeMounts"])
        self.assertIn("w1-password", [v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v])

    def test_a_client_secret_is_a_file_of_a_secret(self):
        oauth = {"endpoint": "https://login.example.com:8443/token", "clientId": "w1", "secret": {"name": "w1-oauth"},
                 "ca": {"secretName": "login-ca"}}
        manifests = render(merged(AGENT, {"kafka": {"sasl": {"mechanism": "OAUTHBEARER", "oauth": oauth}}}))
        self.assertEqual(yaml.safe_load(config(manifests))["kafka"]["sasl"], {
            "mechanism": "OAUTHBEARER", "oauth": {"endpoint": oauth["endpoint"], "client-id": "w1",
                                                  "client-secret-file": "/etc/argobus/kafka/password",
                                                  "ca": "/etc/argobus/kafka-oauth-ca/ca.crt"}})
        pod = one(manifests, "StatefulSet")["spec"]["template"]["spec"]
        self.assertLessEqual({"w1-oauth", "login-ca"}, {v["secret"]["secretName"] for v in pod["volumes"] if "secret" in v})
        egress = one(manifests, "NetworkPolicy")["spec"]["egress"][0]["ports"]
        self.assertIn(8443, {port["port"] for port in egress})

    def test_the_alerts_are_those_of_the_rules_file_with_the_address_of_the_runbooks(self):
        own = yaml.safe_load((ROOT / "deploy/kafka/monitoring/rules.yaml").read_text())["groups"]
        rule = {"metrics": {"prometheusRule": {"enabled": True}}}
        self.assertEqual(one(render(merged(PRINCIPAL, rule)), "PrometheusRule")["spec"]["groups"], own)
        names = [r["alert"] for group in own for r in group["rules"] if "alert" in r]
        rule["metrics"]["prometheusRule"]["runbookURL"] = "https://wiki.example.com/argobus/"
        groups = one(render(merged(AGENT, rule)), "PrometheusRule")["spec"]["groups"]
        rules = [r for group in groups for r in group["rules"] if "alert" in r]
        self.assertEqual([r["alert"] for r in rules], [name for name in names if name != "ArgobusPrincipalDown"])
        self.assertTrue(rules[0]["annotations"]["runbook_url"].startswith("https://wiki.example.com/argobus/docs/"))

    def test_names_that_yaml_takes_for_numbers_stay_names(self):
        more = {"fullnameOverride": "12", "serviceAccount": {"name": "12"}, "priorityClassName": "12", "live": {"enabled": True},
                "persistence": {"existingClaim": "12"}, "podDisruptionBudget": {"enabled": True},
                "metrics": {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True}}}
        own = {"secretName": "12", "certKey": "12", "keyKey": "12", "ca": {"secretName": "12", "key": "12"}}
        issued = {"secretName": "12", "certManager": {"enabled": True, "issuerRef": {"name": "12"}}}
        principal = {"service": {"type": "LoadBalancer", "loadBalancerClass": "12"}, "agents": [{"name": "12"}]}
        for values in (merged(AGENT, {"agent": {"name": "12"}, "live": {"namespaces": ["12"]}}), merged(PRINCIPAL, principal)):
            for tls in (own, issued):
                with self.subTest(role=values["role"], tls=list(tls)):
                    sasl = {"mechanism": "PLAIN", "username": "12", "passwordSecret": {"name": "12", "key": "12"}}
                    manifests = render(merged(merged(values, more), {"tls": tls, "kafka": {"prefix": "1.10", "sasl": sasl}}),
                                       release="12", namespace="12")
                    self.assertNotIn(12, [scalar for o in manifests for scalar in scalars(o)])
                    written = yaml.safe_load(config(manifests))
                    self.assertEqual(written["kafka"]["prefix"], "1.10")
                    self.assertNotIn(12, scalars(written))

    def test_a_digest_wins_over_a_tag(self):
        digest = "sha256:" + "a" * 64
        manifests = render(merged(AGENT, {"image": {"tag": "1", "digest": digest}}))
        pod = one(manifests, "StatefulSet")["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["image"], f"argobus@{digest}")

    def test_a_principal_in_another_namespace_has_its_role_in_that_of_argocd(self):
        manifests = render(merged(PRINCIPAL, {"argocd": {"namespace": "gitops"}}))
        binding = one(manifests, "RoleBinding")
        self.assertEqual(binding["metadata"]["namespace"], "gitops")
        self.assertEqual(binding["subjects"][0]["namespace"], "argocd")
        self.assertIn("namespace: gitops", config(manifests))


if __name__ == "__main__":
    unittest.main()
