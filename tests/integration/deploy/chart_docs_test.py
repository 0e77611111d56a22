#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs docs/operate/helm.md: its commands in order, against two API servers and the broker. There is no container runtime, so
the test does what Kubernetes' controllers and kubelets do for the two pods: it lays out the volumes of each StatefulSet, runs the
container's program with the rights of the pod's service account, and reports when it is ready. It prints the time from the first
command to the first Application; the page has a figure of it, which is not asserted.

The environment is as tests/support/kube/kube.cmake and kafka.cmake set it, with HELM_DEV and AB_BIN.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import broker
import yaml
from chart import NAMESPACE, ROOT
from daemons import Daemon, broker_ports, wait_for
from documented import commands

PAGE = ROOT / "docs/operate/helm.md"
WORKLOADS = {"hub": "argobus-principal", "edge-1": "argobus-agent"}
MOST_COMMANDS = 12  # without the settings, which the page names apart
SETTINGS = re.compile(r"^export \w+=", re.MULTILINE)


class Cluster:
    """As its administrator sees it. "edge-1" is started by the test, "test" of all tests is "hub"."""

    def __init__(self, name):
        self.name = name
        self.folder = pathlib.Path(os.environ["KUBE_DEV_HOME"], "clusters", name)

    def kube_dev(self, command, *args, check=True):
        done = subprocess.run([os.environ["KUBE_DEV"], command, self.name, *args], text=True, capture_output=True,
                              env={**os.environ, "KUBE_DEV_CONTROLLERS": "serviceaccount-controller"})
        assert not check or done.returncode == 0, f"{command} {args}\n{done.stderr}"
        return done.stdout

    def kubectl(self, *args, check=True):
        return self.kube_dev("kubectl", "-n", NAMESPACE, *args, check=check)

    def get(self, kind, name):
        return json.loads(self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json") or "null")

    def kubeconfig(self, path, token=None):
        own = yaml.safe_load((self.folder / "kubeconfig").read_text())
        if token:
            own["users"] = [{"name": "admin", "user": {"token": token}}]
        path.write_text(yaml.safe_dump(own))
        return path


class Pod:
    """The pod of a StatefulSet, as a process."""

    def __init__(self, cluster, name, folder):
        self.cluster, self.folder = cluster, folder
        self.set = wait_for(f"{name} is installed", lambda: cluster.get("statefulset", name))
        spec = self.set["spec"]["template"]["spec"]
        self.volumes = {v["name"]: v for v in spec["volumes"]}
        self.container = spec["containers"][0]
        token = cluster.kubectl("create", "token", spec["serviceAccountName"], "--duration", "1h").strip()
        folder.mkdir()
        kubeconfig = cluster.kubeconfig(folder / "kubeconfig", token)
        for mount in self.container["volumeMounts"]:
            self.lay_out(mount)
        flag, path = self.container["args"]
        assert flag == "-c"
        mounted = "|".join(re.escape(mount["mountPath"]) for mount in self.container["volumeMounts"])
        text = re.sub(rf"(?<= )(?:{mounted})(?=/)", lambda found: str(self.inside(found[0])), self.inside(path).read_text())
        config = yaml.safe_load(text)
        config["log"]["format"] = "text"  # as Daemon reads it
        self.daemon = Daemon(self.container["command"][0], folder / "run", config)
        self.daemon.env["KUBECONFIG"] = str(kubeconfig)

    def inside(self, path):
        return self.folder / "root" / path.lstrip("/")

    def lay_out(self, mount):
        folder = self.inside(mount["mountPath"])
        folder.mkdir(parents=True)
        volume = self.volumes.get(mount["name"], {})  # a claim has none
        if "configMap" in volume:
            for key, text in self.cluster.get("configmap", volume["configMap"]["name"])["data"].items():
                (folder / key).write_text(text)
        for source in volume.get("projected", {}).get("sources", []):
            data = self.cluster.get("secret", source["secret"]["name"])["data"]
            for item in source["secret"]["items"]:
                (folder / item["path"]).write_bytes(base64.b64decode(data[item["key"]]))

    def run(self):
        self.daemon.start()
        status = {"observedGeneration": self.set["metadata"]["generation"], "replicas": 1, "readyReplicas": 1,
                  "currentReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1, "currentRevision": "1",
                  "updateRevision": "1"}
        self.cluster.kubectl("patch", "statefulset", self.set["metadata"]["name"], "--subresource=status", "--type=merge",
                             "-p", json.dumps({"status": status}))


class Docs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="argobus-helm-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.clusters = {"hub": Cluster("test"), "edge-1": Cluster("edge-1")}
        self.clusters["edge-1"].kube_dev("fresh")
        self.addCleanup(self.clusters["edge-1"].kube_dev, "kill")
        self.addCleanup(self.clean_hub)
        self.pods = []
        self.addCleanup(lambda: [pod.daemon.kill() for pod in self.pods])
        self.lay_out()

    def clean_hub(self):
        hub = self.clusters["hub"]
        self.helm("uninstall", "argobus")
        hub.kubectl("delete", "secret", "argobus-principal-tls", "--ignore-not-found")
        hub.kube_dev("kubectl", "delete", "namespace", "edge-1", "--ignore-not-found", check=False)

    def helm(self, *args):
        subprocess.run([os.environ["HELM_DEV"], "--kube-context", "hub", "-n", NAMESPACE, *args], env=self.env, check=False,
                       capture_output=True)

    def lay_out(self):
        """Where an operator of the page is."""
        for name in ("deploy", "examples"):
            (self.folder / name).symlink_to(ROOT / name)
        tls = pathlib.Path(broker.HOME, "tls")
        for user in ("principal", "edge-1"):
            subprocess.run([broker.KAFKA_DEV, "cert", user], check=True, capture_output=True)
            for kind in ("crt", "key"):
                shutil.copy(tls / f"{user}.{kind}", self.folder)
        shutil.copy(tls / "ca.crt", self.folder)
        merged = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
        for name, cluster in self.clusters.items():
            own = yaml.safe_load((cluster.folder / "kubeconfig").read_text())
            merged["clusters"].append({"name": name, "cluster": own["clusters"][0]["cluster"]})
            merged["users"].append({"name": name, "user": own["users"][0]["user"]})
            merged["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        (self.folder / "config").write_text(yaml.safe_dump(merged))
        tools = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, capture_output=True, text=True).stdout.strip()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/helm").symlink_to(os.environ["HELM_DEV"])
        env = broker.environment(BROKERS=f"127.0.0.1:{broker_ports()['tls']}", KUBECONFIG=str(self.folder / "config"))
        self.env = {**env, "PATH": f"{self.folder / 'bin'}:{tools}:{env['PATH']}"}

    def kubelets(self):
        """Runs both pods as soon as they are installed."""
        for cluster, name in WORKLOADS.items():
            self.pods.append(Pod(self.clusters[cluster], name, self.folder / name))
        for pod in self.pods:
            pod.run()

    def test_every_command_works_and_the_first_application_arrives(self):
        before, separator, _ = PAGE.read_text().partition("## Values")
        self.assertTrue(separator)
        blocks = commands("docs/operate/helm.md", env=self.env)
        first = [block for block in blocks if block.text in before]
        kubelets = threading.Thread(target=self.kubelets, daemon=True)
        kubelets.start()
        begin = time.monotonic()
        for block in first:
            self.run_block(block)
        count = sum(len(re.findall(r"(?<!\\)\n", block.text)) for block in first)
        print(f"first command to first Application: {time.monotonic() - begin:.1f} s, {count} commands", flush=True)
        kubelets.join(60)
        for pod in self.pods:
            built = r'argobus_build_info\{version="[^"]+",commit="([0-9a-f]+|unknown)"\} 1'
            self.assertRegex(pod.daemon.get("/metrics"), built)
        self.assertLessEqual(count, MOST_COMMANDS)
        settings = len(SETTINGS.findall(before))
        said = f"takes {count} commands, besides the {settings} `export` lines"
        self.assertTrue(said in before, said)
        for block in blocks[len(first):]:
            self.run_block(block)

    def run_block(self, block):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], env=self.env, cwd=self.folder, text=True, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        logs = "".join(pod.daemon.tail() for pod in self.pods if pod.daemon.log.exists())
        self.assertEqual(done.returncode, 0, f"{block.text}\n{done.stdout}\n{logs}")
        self.assertEqual([line for line in block.output.splitlines() if line not in done.stdout.splitlines()], [], done.stdout)


if __name__ == "__main__":
    unittest.main()
