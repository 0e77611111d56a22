#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobusctl check beside a real API server and a real broker: a sound set-up has no findings, and what is broken is found,
with its remedy. The rights are those of deploy/kubernetes/rbac, with one verb missing at a time."""
import itertools
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest
import uuid

import yaml

from ctl import ROOT, Ctl, kube_dev, kubectl, shifted_clock
from daemons import broker_ports, kafka_dev, wait_for

sys.path.append(str(ROOT / "tests/integration/deploy"))
import broker  # noqa: E402

# The files of deploy/kubernetes/rbac that a program gets, unless a test says others.
FILES = {"agent": ("agent",), "principal": ("principal", "principal-autonomous")}
RULE = re.compile(r"add to the (Role|ClusterRole): (\{.*\}), or apply deploy/kubernetes/rbac/([a-z-]+)[.]yaml"
                  "(?:, which has the first 20)?")


class Check(Ctl):
    def check(self, program, config, code=0):
        (self.folder / f"{program}.yaml").write_text(yaml.safe_dump(config))
        done = self.run_command("argobusctl", "check", program, "-c", f"{program}.yaml", "-o", "json")
        self.assertIn(done.returncode, (0, 1) if code is None else (code,), done.stdout + done.stderr)
        return json.loads(done.stdout)

    def agent(self, **more):
        return {"agent": {"name": "w1", "data": "data"}, "store": {"kind": "directory", "directory": {"path": "store"}},
                "transport": "grpc", "grpc": {"address": "p.example.com:8443", "insecure": True}, **more}

    def bad(self, found):
        return [f for f in found if f["severity"] != "ok"]

    def versions(self, found):
        return {f["where"]: f["version"] for f in found if "version" in f}


class Files(Check):
    """What needs no server."""

    def setUp(self):
        super().setUp()
        self.ctl("pki", "init")
        self.ctl("pki", "issue", "agent", "w1")

    def with_tls(self, cert="w1.crt", key="w1.key", ca="ca/ca.crt"):
        return self.agent(grpc={"address": "p.example.com:8443", "tls": {"ca": ca, "cert": cert, "key": key}})

    def test_a_sound_certificate(self):
        found = self.check("agent", self.with_tls())
        self.assertEqual(self.bad(found), [])
        text = self.ctl("check", "agent", "-c", "agent.yaml")
        self.assertIn("ok       ", text)
        self.assertIn("signed by the CA", text)

    def test_a_configuration_that_does_not_load(self):
        [finding] = self.bad(self.check("agent", {**self.with_tls(), "agnt": 1}, code=1))
        self.assertEqual((finding["severity"], finding["where"]), ("error", "agent.yaml"))
        self.assertIn("agnt", finding["what"])
        self.assertEqual(self.run_command("argobusctl", "check", "agent").returncode, 2)
        self.assertEqual(self.run_command("argobusctl", "check", "broker", "-c", "agent.yaml").returncode, 2)

    def test_its_own_variables_are_no_options_of_the_programs(self):
        self.env = {"ARGOBUS_CONTROL_SOCKET": "ctl.sock", "ARGOBUS_SERVER": "https://p:8090", "ARGOBUS_TOKEN_FILE": "token",
                    "ARGOBUS_SERVER_CA": "ca.crt"}
        self.assertEqual(self.bad(self.check("agent", self.with_tls())), [])
        self.env = {"ARGOBUS_SERVERS": "x"}
        [finding] = self.bad(self.check("agent", self.with_tls(), code=1))
        self.assertIn("ARGOBUS_SERVERS", finding["what"])

    def test_its_own_version_is_told_in_every_form(self):
        own = {"argobusctl": self.ctl("--version").split()[1]}
        self.assertEqual(self.versions(self.check("agent", self.with_tls())), own)
        self.assertEqual(self.versions(self.check("agent", {"agnt": 1}, code=1)), own)
        (self.folder / "agent.yaml").write_text(yaml.safe_dump(self.with_tls()))
        self.assertEqual(self.versions(yaml.safe_load(self.ctl("check", "agent", "-c", "agent.yaml", "-o", "yaml"))), own)
        self.assertIn(f"argobusctl: version {own['argobusctl']}\n", self.ctl("check", "agent", "-c", "agent.yaml"))

    def test_a_key_of_another_certificate(self):
        self.ctl("pki", "issue", "agent", "w2")
        found = self.check("agent", self.with_tls(key="w2.key"), code=1)
        self.assertIn("key", json.dumps(self.bad(found)))

    def test_a_certificate_of_another_agent_ca_and_use(self):
        self.ctl("pki", "init", "--ca-dir", "other")
        self.ctl("pki", "issue", "agent", "w3", "--ca-dir", "other", "--days", "3")
        said = [f["what"] for f in self.bad(self.check("agent", self.with_tls("w3.crt", "w3.key")))]
        self.assertEqual(len(said), 3, said)
        self.assertRegex(said[0], "expires in [23] days")
        self.assertIn('is "w3", the agent\'s name is w1', said[1])
        self.assertIn("not signed by the CA", said[2])

    def test_an_expired_certificate_and_one_for_servers(self):
        (self.folder / "ext").write_text("extendedKeyUsage=serverAuth\n")
        self.openssl("req", "-new", "-key", "w1.key", "-subj", "/CN=w1", "-out", "w1.csr")
        self.openssl("x509", "-req", "-in", "w1.csr", "-CA", "ca/ca.crt", "-CAkey", "ca/ca.key", "-days", "-1",
                     "-extfile", "ext", "-out", "old.crt")
        said = [f["what"] for f in self.bad(self.check("agent", self.with_tls("old.crt"), code=1))]
        self.assertIn("the certificate has expired", said)
        self.assertIn("the extended key usage of the certificate lacks clientAuth", said)


class Kubernetes(Check):
    def setUp(self):
        super().setUp()
        self.namespace = f"check-{uuid.uuid4().hex[:8]}"
        kubectl("create", "namespace", self.namespace)

    def grant(self, program, files=()):
        """The manifests of deploy/kubernetes/rbac, under names of this test's own."""
        self.manifests = []
        for name in files or FILES[program]:
            text = (ROOT / f"deploy/kubernetes/rbac/{name}.yaml").read_text()
            for o in yaml.safe_load_all(text):
                if o["kind"].startswith("Cluster"):
                    o["metadata"]["name"] = f"{self.namespace}-{o['metadata']['name']}"
                    self.addCleanup(kubectl, "delete", o["kind"].lower(), o["metadata"]["name"], "--ignore-not-found")
                else:
                    o["metadata"]["namespace"] = self.namespace
                if o.get("roleRef", {}).get("kind") == "ClusterRole":
                    o["roleRef"]["name"] = f"{self.namespace}-{o['roleRef']['name']}"
                for subject in o.get("subjects", ()):
                    subject["namespace"] = self.namespace
                o["metadata"]["annotations"] = {"file": name}
                self.manifests.append(o)
        self.apply(self.manifests)
        self.addCleanup(kubectl, "delete", "namespace", self.namespace, "--wait=false")
        token = kubectl("-n", self.namespace, "create", "token", f"argobus-{program}").strip()
        config = yaml.safe_load(pathlib.Path(os.environ["AB_KUBECONFIG"]).read_text())
        config["users"] = [{"name": u["name"], "user": {"token": token}} for u in config["users"]]
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))

    def apply(self, objects):
        kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def config(self, program, **more):
        store = {"kind": "kubernetes", "namespace": self.namespace, "kubernetes": {"kubeconfig": "kubeconfig"}}
        if program == "agent":
            store["kubernetes"]["create-namespaces"] = ["w*"] if "mapping" in more else []
            return self.agent(store=store, **more)
        store["kubernetes"]["create-namespaces"] = ["w*"]
        return {"principal": {"data": "data"}, "agents": [{"name": "w1", "mode": "autonomous"}], "store": store,
                "transport": "grpc", "grpc": {"listen": "127.0.0.1:0", "insecure": True}, **more}

    def errors(self, program, *flags):
        (self.folder / f"{program}.yaml").write_text(yaml.safe_dump(self.config(program)))
        done = self.run_command("argobusctl", "check", program, "-c", f"{program}.yaml", "-o", "json", *flags)
        return [f for f in json.loads(done.stdout) if f["severity"] == "error"]

    def missing(self, program, config):
        """(where, verb) of each right that is found to be missing, with its finding."""
        found = [f for f in self.check(program, config, code=None) if f["what"].startswith("not allowed to ")]
        return {(f["where"], f["what"].split()[3]): f for f in found}

    def has_its_remedy(self, finding, verb, role, rule):
        """Right away: the rule that would grant it, of the kind of role that needs it, and the file that has it."""
        kind, text, file = RULE.fullmatch(finding["remedy"]).groups()
        said = yaml.safe_load(text)
        self.assertEqual((kind, file), (role["kind"], role["metadata"]["annotations"]["file"]))
        self.assertEqual(said.pop("verbs"), [verb])
        [resource] = said.pop("resources")
        self.assertIn(resource, rule["resources"])
        self.assertEqual(said.pop("resourceNames", []), rule.get("resourceNames", []))
        self.assertEqual(said, {"apiGroups": rule["apiGroups"]})

    def changes_have_their_remedy(self, finding, verb, rule):
        """The one finding of live access for all that a verb changes."""
        kinds = [kind.partition(".")[0] for kind in finding["what"].partition(f"not allowed to {verb} ")[2].split(", ")]
        self.assertEqual(kinds, rule["resources"])
        self.assertEqual(finding["remedy"], f"add these kinds with verbs: [{verb}] to the ClusterRole, or apply "
                         f"deploy/kubernetes/rbac/agent-live.yaml, or leave {verb} out of live.kubernetes.verbs")

    def expected(self, verb):
        """(where, verb) of what is missing without the verb: the role and the rule that have it."""
        expected = {}
        for role in (o for o in self.manifests if o["kind"] in ("Role", "ClusterRole")):
            where = "in all namespaces" if role["kind"] == "ClusterRole" else f"in namespace {self.namespace}"
            for rule in (r for r in role["rules"] if verb in r["verbs"]):
                group = f".{rule['apiGroups'][0]}" if rule["apiGroups"][0] else ""
                names = ["live access"] if len(rule["apiGroups"]) > 1 else [r + group for r in rule["resources"]]
                expected |= {(f"{name} {where}", verb): (role, rule) for name in names}
        return expected

    def take_away(self, verb):
        """From all roles."""
        less = []
        for role in (o for o in self.manifests if o["kind"] in ("Role", "ClusterRole")):
            rules = [{**r, "verbs": [v for v in r["verbs"] if v != verb]} for r in role["rules"]]
            less.append({**role, "rules": [r for r in rules if r["verbs"]]})
        self.apply(less)

    def lacks(self, program, files, verbs, **more):
        """Without each verb at a time, in all rules; what is found is what is missing, each with its remedy."""
        config = self.config(program, **more)
        self.grant(program, files)
        wait_for("all is granted", lambda: not self.missing(program, config))
        self.assertEqual(sorted({v for o in self.manifests for r in o.get("rules", ()) for v in r["verbs"]}), sorted(verbs))
        for verb in verbs:
            with self.subTest(verb=verb):
                expected = self.expected(verb)
                self.take_away(verb)
                def is_found():
                    self.found = self.missing(program, config)
                    return self.found.keys() == expected.keys()  # noqa: B023
                wait_for(f"{expected.keys()} is missing, not {self.missing(program, config).keys()}", is_found)
                for key, (role, rule) in expected.items():
                    if key[0].startswith("live access"):
                        self.changes_have_their_remedy(self.found[key], verb, rule)
                    else:
                        self.has_its_remedy(self.found[key], verb, role, rule)

    def test_an_agent_without_a_verb(self):
        self.lacks("agent", ("agent",), ("create", "delete", "get", "list", "patch", "watch"), live={"enabled": False})

    def test_an_agent_by_destination_without_a_verb(self):
        self.lacks("agent", ("agent", "agent-destination"), ("create", "delete", "get", "list", "patch", "watch"),
                   mapping="destination", live={"enabled": False})

    def test_an_agent_with_live_access_without_a_verb(self):
        self.lacks("agent", ("agent", "agent-live"), ("create", "delete", "get", "list", "patch", "update", "watch"),
                   live={"enabled": True, "exec": True})

    def test_live_access_needs_no_more_than_its_policy_lets_it_do(self):
        def found(**kubernetes):
            return sorted(self.missing("agent", self.config("agent", live={"enabled": True, "kubernetes": kubernetes})))
        self.grant("agent")
        wait_for("the agent's own rights are granted", lambda: self.errors("agent") == [])
        every = "*.* in all namespaces", "live access in all namespaces"
        self.assertEqual(found(verbs=["get", "patch"]), [(every[0], "get"), (every[1], "patch")])
        self.assertEqual(found(), [*((every[0], verb) for verb in ("get", "list", "watch")),
                                   *((every[1], verb) for verb in ("create", "delete", "patch", "update"))])
        self.assertEqual(found(policy="off"), [])

    def test_a_principal_without_a_verb(self):
        self.lacks("principal", (), ("create", "delete", "get", "list", "patch", "watch"))

    def test_a_principal_without_a_part_of_the_watermark(self):
        """The right that a role must name for every 500 agents; it is an error only if the configured agents need it."""
        self.grant("principal")
        wait_for("all is granted", lambda: not self.missing("principal", self.config("principal")))
        [(role, rule)] = [(o, r) for o in self.manifests for r in o.get("rules", ()) if "resourceNames" in r]
        gone = [f"argobus-store-mark-{part}" for part in (1, 19)]
        rule["resourceNames"] = [name for name in rule["resourceNames"] if name not in gone]
        self.apply([role])
        def found(agents):
            config = self.config("principal", agents=[{"name": f"w{i}"} for i in range(agents)])
            return list(self.missing("principal", config).values())
        wait_for("it is found", lambda: found(500))
        for agents, severity in ((500, "warning"), (501, "error")):
            [finding] = found(agents)
            self.assertEqual((finding["severity"], finding["where"]), (severity, f"configmaps in namespace {self.namespace}"))
            self.assertIn(f"not allowed to patch {', '.join(gone)}: ", finding["what"])
            self.has_its_remedy(finding, "patch", role, {**rule, "resourceNames": gone})

    def registration(self, **more):
        (self.folder / "key").write_bytes(os.urandom(32))
        self.ctl("pki", "init")
        self.ctl("pki", "issue", "principal", "--dns", "localhost")
        self.registering = {
            "agents": [], "live": {"resource": {"listen": "127.0.0.1:0", "tls": {"cert": "principal.crt", "key": "principal.key"}}},
            "registration": {"enabled": True, "server": "https://localhost:9090", "ca": "ca/ca.crt", "token-key": "key", **more}}
        return self.registering

    def test_a_principal_with_registration_without_a_verb(self):
        files = ("principal", "principal-autonomous", "principal-registration")
        self.lacks("principal", files, ("create", "delete", "get", "list", "patch", "watch"), **self.registration(mode="autonomous"))

    def test_registration_asks_for_the_rights_of_the_agents_that_may_come(self):
        self.grant("principal", ("principal",))
        self.registration()
        secrets = {("secrets", "create"), ("secrets", "patch")}
        mirrors = {(f"{kind}.argoproj.io", verb) for kind in ("applications", "appprojects") for verb in ("create", "delete")}
        wait_for("the principal's own rights are granted", lambda: self.found_with() == secrets)
        self.assertEqual(self.found_with(mode="autonomous"), secrets | mirrors)
        self.assertEqual(self.found_with(modes=["managed", "autonomous"]), secrets | mirrors)

    def found_with(self, **more):
        registration = {**self.registering["registration"], **more}
        config = self.config("principal", **{**self.registering, "registration": registration})
        del config["store"]["kubernetes"]["create-namespaces"]
        return {(where.split()[0], verb) for where, verb in self.missing("principal", config)}

    def test_argocds_settings_are_looked_at(self):
        self.grant("principal")
        def warned():
            found = self.bad(json.loads(self.run_command("argobusctl", "check", "principal", "-c", "principal.yaml", "-o",
                                                         "json").stdout))
            return [f["where"] for f in found]
        (self.folder / "principal.yaml").write_text(yaml.safe_dump(self.config("principal")))
        wait_for("it is not set", lambda: warned() == ["application.namespaces in argocd-cmd-params-cm"])
        kubectl("-n", self.namespace, "create", "configmap", "argocd-cmd-params-cm", "--from-literal=application.namespaces=w1")
        self.assertEqual(warned(), [])

    def argocd(self, program, **more):
        found = self.check(program, self.config(program, **more), code=None)
        return [(f["where"], f.get("version"), f["what"]) for f in found if f["where"].startswith("Argo CD")]

    def workload(self, kind, name, component, image, **labels):
        labels |= {"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/component": component}
        pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}}
        return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": pod}}

    def test_the_version_of_the_API_server_is_told(self):
        self.grant("agent")
        version = json.loads(kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
        wait_for("the rights are granted", lambda: self.errors("agent") == [])
        found = self.check("agent", self.config("agent", live={"enabled": False}))
        self.assertEqual((self.versions(found)["Kubernetes"], self.bad(found)), (version, []))

    def test_of_argocd_a_principal_learns_the_version_that_helm_sets(self):
        self.grant("principal")
        wait_for("the rights are granted", lambda: self.errors("principal") == [])
        self.apply([self.workload("Deployment", "argocd-server", "server", "quay.io/argoproj/argocd:v9")])
        [(where, version, said)] = self.argocd("principal")
        self.assertEqual((where, version), ("Argo CD", None))
        self.assertRegex(said, "^version not known: this user may not read Deployments and StatefulSets, .* has no label ")
        labels = {"app.kubernetes.io/version": "v3.5.0"}
        self.apply([{"apiVersion": "v1", "kind": "ConfigMap",
                     "metadata": {"name": "argocd-cm", "namespace": self.namespace, "labels": labels}}])
        [found] = self.argocd("principal")
        self.assertEqual(found, ("Argo CD", "v3.5.0",
                                 "version v3.5.0, by label app.kubernetes.io/version of ConfigMap argocd-cm"))

    def test_of_argocd_whoever_may_see_workloads_learns_the_version_of_their_images(self):
        self.grant("agent", ("agent", "agent-live"))
        wait_for("the rights are granted", lambda: not self.missing("agent", self.config("agent", live={"enabled": True})))
        [(where, version, said)] = self.argocd("agent")
        self.assertEqual((where, version), ("Argo CD", None))
        self.assertIn("no argocd-server or application-controller with the labels", said)
        self.apply([self.workload("StatefulSet", "controller", "application-controller", "reg:5000/argocd:v3.4.1@sha256:" + "0" * 64),
                    self.workload("Deployment", "argocd-server", "server", "argocd@sha256:" + "0" * 64,
                                  **{"app.kubernetes.io/version": "v3.5.0"}),
                    self.workload("Deployment", "argocd-redis", "redis", "redis:8")])
        self.assertEqual([found[:2] for found in self.argocd("agent")],
                         [("Argo CD, argocd-server", "v3.5.0"), ("Argo CD, controller", "v3.4.1")])

    def test_the_flags_say_which_cluster_is_looked_at(self):
        self.grant("agent")
        config = yaml.safe_load((self.folder / "kubeconfig").read_text())
        context = config["contexts"][0]
        config["contexts"] = [{**context, "name": "here"}, {"name": "gone", "context": {**context["context"], "cluster": "gone"}}]
        config["clusters"].append({"name": "gone", "cluster": {"server": "https://127.0.0.1:1"}})
        config["current-context"] = "gone"
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))
        (self.folder / "copy").write_text(yaml.safe_dump({**config, "current-context": "here"}))
        [error] = self.errors("agent")
        self.assertEqual(error["where"], "https://127.0.0.1:1")
        wait_for("all is granted", lambda: self.errors("agent", "--context", "here") == [])
        self.assertEqual(self.errors("agent", "--kubeconfig", "copy"), [])
        [error] = self.errors("agent", "--context", "hub")
        self.assertIn('no context "hub"; its contexts: here, gone', error["what"])

    def test_credentials_and_addresses_that_are_wrong(self):
        self.grant("agent")
        config = yaml.safe_load((self.folder / "kubeconfig").read_text())
        for u in config["users"]:
            u["user"]["token"] = "x" + u["user"]["token"]
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))
        [error] = self.errors("agent")
        self.assertIn("401", error["what"])
        for c in config["clusters"]:
            c["cluster"]["server"] = "https://127.0.0.1:1"
        (self.folder / "kubeconfig").write_text(yaml.safe_dump(config))
        [error] = self.errors("agent")
        self.assertEqual(error["where"], "https://127.0.0.1:1")
        self.assertIn("store.kubernetes", error["remedy"])


class BareCluster(Check):
    """An API server without Argo CD. Its certificates are of yesterday, so a clock that is behind may take them as valid."""

    NAME = "ctl-check-bare"
    HOME = pathlib.Path(os.environ["KUBE_DEV_HOME"], "clusters", NAME)

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="argobus-test-")))
        if cls.HOME.exists():
            kube_dev("wipe", cls.NAME)  # of a run that was killed
        cls.addClassCleanup(kube_dev, "wipe", cls.NAME)
        kube_dev("start", cls.NAME, **shifted_clock(folder / "clock", -86400), KUBE_DEV_CONTROLLERS="none")

    def findings(self):
        kubernetes = {"kubeconfig": str(self.HOME / "kubeconfig")}
        return self.check("agent", self.agent(store={"kind": "kubernetes", "kubernetes": kubernetes}), code=None)

    def test_crds_that_are_missing(self):
        crds = pathlib.Path(kube_dev("programs").strip(), "crds")
        self.assertEqual(self.bad(self.findings()), [
            {"severity": "error", "where": where, "what": "the API server does not have this CRD",
             "remedy": "install Argo CD, or at least its CRDs, in this cluster"}
            for where in ("applications.argoproj.io", "appprojects.argoproj.io")])
        for name, rest in (("application", ["appprojects.argoproj.io"]), ("appproject", [])):
            kube_dev("kubectl", self.NAME, "apply", "--server-side", "-f", str(crds / f"{name}-crd.yaml"))
            wait_for(f"{rest} is missing", lambda: [f["where"] for f in self.bad(self.findings())] == rest)  # noqa: B023

    def clock(self):
        return next(f for f in self.findings() if f["where"] == "clock")

    def test_a_clock_that_is_wrong(self):
        self.assertEqual(self.clock()["severity"], "ok")
        for hours, way in ((2, "ahead of"), (-2, "behind")):
            with self.subTest(hours=hours):
                self.shift_the_clock(hours * 3600)
                finding = self.clock()
                seconds = int(re.fullmatch(rf"this host is (\d+) seconds {way} the API server", finding["what"])[1])
                self.assertEqual(round(seconds / 3600), 2)  # the request has taken some time, too
                self.assertEqual((finding["severity"], finding["remedy"]),
                                 ("error", "synchronise the clocks (NTP): certificates and tokens depend on them"))


class Kafka(Check):
    def kafka(self, port, prefix):
        return self.agent(transport="kafka", grpc={}, kafka={"brokers": [f"127.0.0.1:{port}"], "insecure": True, "prefix": prefix})

    def test_topics_that_are_missing_or_wrong(self):
        prefix = f"check-{uuid.uuid4().hex[:8]}"
        plain = broker_ports()["plain"]
        server = ("--bootstrap-server", f"127.0.0.1:{plain}")
        kafka_dev("tool", "topics", *server, "--create", "--topic", f"{prefix}.down.w1.state", "--partitions", "2")
        kafka_dev("tool", "topics", *server, "--create", "--topic", f"{prefix}.up.w1.state", "--partitions", "1")
        kafka_dev("tool", "topics", *server, "--create", "--topic", f"{prefix}.up.w1.live", "--partitions", "1",
                  "--config", "cleanup.policy=delete", "--config", "max.message.bytes=4194304")
        said = {f["where"]: f["what"] for f in self.bad(self.check("agent", self.kafka(plain, prefix), code=1))}
        self.assertEqual(sorted(said), [f"{prefix}.down.w1.live", f"{prefix}.down.w1.state", f"{prefix}.up.w1.state"])
        self.assertIn("does not exist", said[f"{prefix}.down.w1.live"])
        self.assertIn("has 2 partitions", said[f"{prefix}.down.w1.state"])
        self.assertIn("must be compact", said[f"{prefix}.up.w1.state"])

    def test_a_topic_that_takes_less_than_the_largest_event_is_of_use(self):
        prefix = f"check-{uuid.uuid4().hex[:8]}"
        plain = broker_ports()["plain"]
        less = f"{prefix}.up.w1.state"
        for way, live in itertools.product(("up", "down"), ("state", "live")):
            name = f"{prefix}.{way}.w1.{live}"
            kafka_dev("tool", "topics", "--bootstrap-server", f"127.0.0.1:{plain}", "--create", "--topic", name, "--partitions", "1",
                      "--config", f"cleanup.policy={'delete' if live == 'live' else 'compact'}",
                      "--config", f"max.message.bytes={4194303 if name == less else 4194304}")
        [finding] = self.bad(f for f in self.check("kafka", self.kafka(plain, prefix)) if f["where"].startswith(prefix))
        self.assertEqual((finding["severity"], finding["where"], finding["remedy"]), ("warning", less, "docs/operate/kafka.md"))
        self.assertEqual(finding["what"], f"topic {less} has max.message.bytes=4194303, must be 4194304: kafka-configs --alter "
                                          f"--topic {less} --add-config max.message.bytes=4194304")

    def release(self):
        """Of the broker, as far as it tells: without the patch version."""
        pom = (ROOT / "tests/support/kafka/pom.xml").read_text()
        return re.search(r"<kafka.version>(\d+[.]\d+)", pom)[1]

    def with_tls(self, **more):
        subprocess.run([broker.KAFKA_DEV, "cert", "w1"], check=True, capture_output=True)
        tls = {name: str(pathlib.Path(broker.HOME, "tls", file)) for name, file in
               (("ca", "ca.crt"), ("cert", "w1.crt"), ("key", "w1.key"))} | more
        return {"kafka": {"brokers": [f"127.0.0.1:{broker_ports()['tls']}"], "tls": tls}}

    def test_the_version_of_each_broker_is_told(self):
        plain = {"kafka": {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True}}
        for config in (plain, self.with_tls()):
            [address] = config["kafka"]["brokers"]
            versions = self.versions(self.check("kafka", config, code=None))
            self.assertEqual((versions[address], set(versions)), (self.release(), {"argobusctl", "librdkafka", address}))

    def test_a_version_that_cannot_be_asked_is_not_an_error(self):
        config = self.with_tls(key="secret.key", **{"key-password": "x"})
        key = pathlib.Path(broker.HOME, "tls", "w1.key")
        self.openssl("rsa", "-in", key, "-aes128", "-passout", "pass:x", "-out", "secret.key")
        [finding] = [f for f in self.check("kafka", config, code=None) if f["where"] == config["kafka"]["brokers"][0]]
        self.assertEqual((finding["severity"], finding["what"]),
                         ("ok", "version not known: only librdkafka gets kafka.tls.key-password"))

    def test_a_broker_that_is_away(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            [error] = self.bad(self.check("agent", self.kafka(s.getsockname()[1], "x"), code=1))
        self.assertIn("no broker answers", error["what"])
        self.assertIn("refused", error["what"])

    def test_finds_a_broker_where_the_first_is_away(self):
        config = {"kafka": {"brokers": ["127.0.0.1:1", f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True}}
        [finding] = [f for f in self.check("kafka", config, code=None) if f["where"] == "kafka.brokers"]
        self.assertEqual((finding["severity"], finding["what"]), ("ok", "1 brokers answer"))

    def test_of_a_file_with_gRPC_no_brokers_are_asked(self):
        (self.folder / "agent.yaml").write_text(yaml.safe_dump(self.agent()))
        self.assertIn("agent.yaml: there are no brokers with transport: grpc",
                      self.ctl("check", "kafka", "-c", "agent.yaml", code=2))

    def test_what_only_brokers_need_is_enough_for_them(self):
        """Neither agent.data nor a cluster, which the agent needs."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            config = {"agent.name": "w1", "kafka": {"brokers": [f"127.0.0.1:{s.getsockname()[1]}"], "insecure": True}}
            [_, whose, away] = self.check("kafka", config, code=1)
        self.assertEqual(whose["what"], "checked as the configuration of agent w1")
        self.assertEqual((away["severity"], away["where"]), ("error", "kafka.brokers"))
        self.assertIn("no broker answers", away["what"])

    def test_a_file_of_neither_program_is_a_finding(self):
        for config, said in (({"agent": {"mode": "managed"}}, "agent.name is not set"), ({"agent": {"name": "W1"}}, '"W1"'),
                             ({"agent": {"nme": "w1"}}, 'unknown key "agent.nme"'), ({"principal": {"dta": "x"}}, "principal.dta"),
                             ({"kafka": {}}, "kafka.brokers is not set")):
            [finding] = self.bad(self.check("kafka", config, code=1))
            self.assertIn(said, finding["what"])
        self.assertIn("-c FILE", self.ctl("check", "kafka", code=2))
        self.assertIn("--context", self.ctl("check", "kafka", "-c", "kafka.yaml", "--context", "hub", code=2))

    def test_a_file_with_brokers_alone_is_checked_as_a_principals(self):
        found = self.check("kafka", {"kafka": {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True}})
        self.assertEqual(self.bad(found), [])
        said = {f["where"]: f["what"] for f in found}
        self.assertEqual(said["kafka.yaml"], "checked as the configuration of a principal")
        self.assertEqual(said["kafka.brokers"], "1 brokers answer")
        self.assertEqual(said["agents"], "no agent is configured here, so no topics were checked")
        self.assertIn("argobus.principal", said)


class Grants(Check):
    """The rights at a broker with an authorizer: those of deploy/kafka/provision, with one missing at a time. The remedy of each
    finding is run, and then nothing is found any more. The broker keeps nothing of all these checks."""
    part = None  # what is checked; None: all of the program

    def setUp(self):
        super().setUp()
        self.prefix = self.name = f"chk-{uuid.uuid4().hex[:8]}"
        self.admin = broker.environment(PREFIX=self.prefix)
        self.server = ("--bootstrap-server", self.admin["BOOTSTRAP"])
        self.brokers = [f"{host}:{broker_ports()['tls']}" for host in ("127.0.0.1", "localhost")]
        done = broker.run(str(ROOT / "deploy/kafka/provision"), "agent", self.name, env=self.admin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(broker.run, str(ROOT / "deploy/kafka/provision"), "remove", self.name, env=self.admin)

    def kafka(self, program, user, **more):
        subprocess.run([broker.KAFKA_DEV, "cert", user], check=True, capture_output=True)
        tls = pathlib.Path(broker.HOME, "tls")
        config = {"store": {"kind": "directory", "directory": {"path": "store"}}, program: {"data": "data"},
                  "kafka": {"brokers": self.brokers, "prefix": self.prefix, "replication-factor": 1, "tls": {
                      "ca": str(tls / "ca.crt"), "cert": str(tls / f"{user}.crt"), "key": str(tls / f"{user}.key")}, **more}}
        if program == "agent":
            config["agent"]["name"] = self.name
        else:
            config["agents"] = [{"name": self.name}]
        (self.folder / f"{program}.yaml").write_text(yaml.safe_dump(config))

    def found(self, program):
        """The findings that are not good, without those of the certificate."""
        done = self.run_command("argobusctl", "check", self.part or program, "-c", f"{program}.yaml", "-o", "json")
        return [f for f in self.bad(json.loads(done.stdout)) if "common name" not in f["what"]]

    def acl(self, action, user, operation, resource):
        kind, name = resource
        pattern = "prefixed" if name.endswith(".") else "literal"
        kafka_dev("tool", "acls", *self.server, f"--{action}", "--force", f"--allow-principal=User:{user}", "--operation",
                  operation, f"--{kind}", name, "--resource-pattern-type", pattern)

    def shows(self, program, expected):
        def is_shown():
            return sorted((f["severity"], f["where"]) for f in self.found(program)) == sorted(expected)
        try:
            wait_for("what is missing is found", is_shown)
        except AssertionError as e:
            raise AssertionError(f"{expected}\n{self.found(program)}") from e
        return self.found(program)

    def cure(self, program):
        """Runs the remedies that it names, as an administrator."""
        for remedy in sorted({f["remedy"] for f in self.found(program)}):
            command, _, script = remedy.partition(", or ")
            self.assertTrue(script.startswith("deploy/kafka/provision") and "with KAFKA_USER" in script or " Create " in command,
                            remedy)
            args = command.split()
            self.assertEqual(args[:3], ["kafka-acls.sh", "--bootstrap-server", ",".join(self.brokers)])
            args[2] = self.admin["BOOTSTRAP"]
            done = broker.run(*args, env=self.admin)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.shows(program, [])

    def lacks(self, program, user, cases):
        self.shows(program, [])
        for operation, resource, expected in cases:
            with self.subTest(operation=operation, resource=resource):
                self.acl("remove", user, operation, resource)
                found = self.shows(program, expected)
                self.assertTrue(all(f"the right {operation} " in f["what"] for f in found), found)
                if expected:
                    self.cure(program)
                else:  # Read and Write imply it
                    self.acl("add", user, operation, resource)

    def topic(self, way, lane):
        return f"{self.prefix}.{way}.{self.name}.{lane}"

    def keeps_nothing(self):
        out = broker.run("kafka-get-offsets.sh", *self.server, "--topic", f"{self.prefix}[.].*", env=self.admin).stdout
        self.assertEqual(sorted(out.split()), sorted(f"{self.topic(way, lane)}:0:0" for way in ("down", "up")
                                                     for lane in ("state", "live")))
        groups = broker.run("kafka-consumer-groups.sh", *self.server, "--list", env=self.admin).stdout
        self.assertNotIn(self.prefix, groups)

    def test_an_agent_without_a_right(self):
        self.kafka("agent", self.name)
        down, up = (("topic", f"{self.prefix}.{way}.{self.name}.") for way in ("down", "up"))
        group = f"{self.prefix}.agent.{self.name}"
        self.lacks("agent", self.name, (
            ("Read", down, [("error", self.topic("down", "state")), ("error", self.topic("down", "live"))]),
            ("Describe", down, []),
            ("Read", up, [("error", self.topic("up", "state"))]),
            ("Write", up, [("error", self.topic("up", "state")), ("error", self.topic("up", "live"))]),
            ("Describe", up, []),
            ("Read", ("group", group), [("error", group)]),
            ("Read", ("group", f"{group}.live"), [("error", f"{group}.live")])))
        self.keeps_nothing()

    def test_kafka_alone_finds_a_missing_right_without_an_api_server(self):
        self.part = "kafka"
        self.kafka("agent", self.name)
        file = self.folder / "agent.yaml"
        file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), "store": {"kind": "kubernetes"}}))
        group = f"{self.prefix}.agent.{self.name}"
        self.lacks("agent", self.name, [("Read", ("group", group), [("error", group)])])
        self.keeps_nothing()

    def test_an_agent_that_may_not_even_see_its_topics(self):
        self.kafka("agent", self.name)
        down = ("topic", f"{self.prefix}.down.{self.name}.")
        for operation in ("Read", "Describe"):
            self.acl("remove", self.name, operation, down)
        found = self.shows("agent", [("error", self.topic("down", "state")), ("error", self.topic("down", "live"))])
        self.assertTrue(all("Topic authorization failed" in f["what"] and "--operation Describe" in f["remedy"] for f in found))

    def test_a_principal_without_a_right(self):
        done = broker.run(str(ROOT / "deploy/kafka/provision"), "principal", env=self.admin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.kafka("principal", "principal", topics="create")
        every = ("topic", f"{self.prefix}.")
        state = [("error", self.topic("down", "state"))]
        group, agents = f"{self.prefix}.principal", f"{self.prefix}.agent."
        [missing] = self.shows("principal", state)  # provision does not grant this one
        self.assertIn("the right Create is missing", missing["what"])
        self.cure("principal")
        self.lacks("principal", "principal", (
            ("Create", every, state),
            ("Read", every, [*state, *(("error", self.topic("up", lane)) for lane in ("state", "live"))]),
            ("Write", every, [*state, ("error", self.topic("down", "live"))]),
            ("Describe", every, []),
            ("DescribeConfigs", every, [("warning", self.topic(w, l)) for w in ("down", "up") for l in ("state", "live")]),
            ("Read", ("group", group), [("error", group)]),
            ("Read", ("group", agents), [("warning", f"{agents}{self.name}")])))
        self.keeps_nothing()


if __name__ == "__main__":
    unittest.main()
