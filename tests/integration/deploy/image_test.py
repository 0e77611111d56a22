#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The image: built twice by buildah on a Debian that mmdebstrap makes, then run by runc, read-only and
without rights, as a principal and an agent at a real broker; also copied to a registry of this test. The commands are those of
docs/operate/install.md and air-gapped.md. No container engine is needed; root is.

The environment is as tests/support/kafka/kafka.cmake sets it. AB_IMAGE_ARCH is the processor that the image is for, where it is
another one than this machine's: it is built by a cross compiler, and only its programs run under QEMU.
"""
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
import unittest
import urllib.error
import urllib.request
import uuid

import yaml
from chart import ROOT
from daemons import broker_ports
from documented import commands
from ports import free_port
from waiting import wait_for

USER = 65532
MOST_BYTES = 60_000_000
PROGRAMS = ("argobus-principal", "argobus-agent", "argobusctl")
BASE = "localhost/debian-base"
HERE = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
ARCH = os.environ.get("AB_IMAGE_ARCH", HERE)
BUILD = 0 if ARCH == HERE else 1  # the pages build for this machine first, then for the other
INSTALL = commands("docs/operate/install.md", by="tests/integration/deploy/image_test.py")
AIR_GAPPED = commands("docs/operate/air-gapped.md", by="tests/integration/deploy/image_test.py")
COPY = AIR_GAPPED[2]
ELF_MACHINES = {"amd64": 62, "arm64": 183}  # EM_X86_64, EM_AARCH64
SUPPORT = ROOT / "tests/support"
VALIDATOR = pathlib.Path(__file__).with_name("spdx-requirements.txt")
EMULATORS = {"arm64": pathlib.Path("/usr/bin/qemu-aarch64-static")}  # static, so that it runs in the image


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@contextlib.contextmanager
def registry(folder):
    """Debian's docker-registry; gives where it listens, and its certificate."""
    address, cert, key = f"127.0.0.1:{free_port()}", folder / "tls.crt", folder / "tls.key"
    folder.mkdir()
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=registry",
        "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1", "-keyout", key, "-out", cert)
    (folder / "config.yml").write_text(yaml.safe_dump({
        "version": 0.1, "http": {"addr": address, "tls": {"certificate": str(cert), "key": str(key)}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}}}))
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdout=log, stderr=log)

    def listens():
        with contextlib.suppress(OSError), socket.create_connection(address.split(":"), timeout=10):
            return True

    try:
        wait_for("the registry listens", listens, 60)
        yield address, cert
    finally:
        process.terminate()
        process.wait(60)


def apt_sources():
    found = [pathlib.Path("/etc/apt/sources.list"), pathlib.Path("/etc/apt/sources.list.d/debian.sources")]
    return [path for path in found if path.exists() and path.stat().st_size]


class Builder:
    def __init__(self, folder):
        self.folder = folder
        self.buildah = ["buildah", "--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]

    def make_base(self):
        tar = self.folder / "base.tar"
        run("mmdebstrap", "--quiet", "--variant=minbase", "--format=tar", "bookworm", tar, *apt_sources())
        container = run(*self.buildah, "from", "scratch").strip()
        run(*self.buildah, "add", "--quiet", container, tar)
        run(*self.buildah, "commit", "--quiet", "--rm", container, BASE)
        tar.unlink()

    def build(self, name, command):
        """With a command of a page; the image of Debian is always that of this test."""
        out = self.folder / f"{name}.tar"
        text = command.text.replace(("argobus.tar", "argobus-arm64.tar")[BUILD], str(out)).replace("registry.example.com/debian:12-slim", BASE)
        run("bash", "-euc", text, timeout=3000, cwd=ROOT,
            env={**os.environ, "BUILDAH": " ".join(self.buildah), "BASE": BASE})
        return Image(out, self.folder / name)


class Image:
    """An OCI archive, and what it unpacks to."""

    def __init__(self, archive, folder):
        self.archive, self.folder, self.root = archive, folder, folder / "root"
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        self.digest = json.loads((folder / "index.json").read_text())["manifests"][0]["digest"]
        self.manifest = self.blob(self.digest)
        self.config = self.blob(self.manifest["config"]["digest"])
        self.root.mkdir()
        for layer in self.manifest["layers"]:
            run("tar", "--extract", "--numeric-owner", "--file", self.path(layer["digest"]), "--directory", self.root)
        self.files = [path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()]
        self.emulator = []
        if ARCH != HERE:
            shutil.copy(EMULATORS[ARCH], self.root)
            self.emulator = [f"/{EMULATORS[ARCH].name}"]

    def path(self, digest):
        return self.folder / "blobs" / digest.replace(":", "/")

    def blob(self, digest):
        return json.loads(self.path(digest).read_text())

    def command(self, program, *args):
        """What runs a program in the root."""
        return [*self.emulator, f"/usr/bin/{program}", *args]

    def compressed_bytes(self):
        """As a registry would send it; an archive may be uncompressed."""
        total = 0
        for layer in self.manifest["layers"]:
            content = self.path(layer["digest"]).read_bytes()
            total += len(content if content[:2] == b"\x1f\x8b" else gzip.compress(content))
        return total


def seccomp():
    """The filter of Debian's container engines, for a process without capabilities."""
    profile = json.loads(pathlib.Path("/usr/share/containers/seccomp.json").read_text())
    rules = [rule for rule in profile["syscalls"]
             if not rule["includes"].get("caps") and HERE in rule["includes"].get("arches", [HERE])]
    return {"defaultAction": profile["defaultAction"],
            "syscalls": [{"names": rule["names"], "action": rule["action"], "args": rule.get("args") or []} for rule in rules]}


def runtime_config(root, folder, command):
    """What a kubelet asks of a runtime for a restricted pod with hostNetwork: the broker listens on the loopback."""
    nothing = {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")}
    binds = [{"destination": destination, "source": str(folder / source), "type": "bind",
              "options": ["bind", "nosuid", "nodev", mode]}
             for destination, source, mode in (("/var/lib/argobus", "state", "rw"), ("/etc/argobus", "config", "ro"))]
    return {
        "ociVersion": "1.0.2",
        "root": {"path": str(root), "readonly": True},
        "process": {"user": {"uid": USER, "gid": USER}, "cwd": "/", "env": ["PATH=/usr/bin"], "args": command,
                    "capabilities": nothing, "noNewPrivileges": True},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                   {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
                   *binds],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")], "seccomp": seccomp(),
                  "maskedPaths": ["/proc/kcore", "/proc/keys"], "readonlyPaths": ["/proc/sys", "/proc/sysrq-trigger"]}}


class Container:
    """One of the programs in a container of runc, with a read-only root, no capabilities, no way to get any, a filter for
    system calls, and a user without a name on the host. runc passes signals on to it."""

    def __init__(self, image, folder, program, config):
        self.folder, self.port, self.name = folder, free_port(), f"argobus-{uuid.uuid4().hex[:8]}"
        (folder / "state/data").mkdir(parents=True)
        (folder / "state/store").mkdir()
        (folder / "config").mkdir()
        for path in (folder / "state").rglob("*"):
            os.chown(path, USER, USER)
        config = {**config, "http": {"address": f"127.0.0.1:{self.port}"},
                  "store": {"kind": "directory", "namespace": "argocd", "directory": {"path": "/var/lib/argobus/store"}}}
        (folder / "config/config.yaml").write_text(yaml.safe_dump(config))
        command = image.command(program, "-c", "/etc/argobus/config.yaml")
        (folder / "config.json").write_text(json.dumps(runtime_config(image.root, folder, command)))
        self.runc = ["runc", "--root", str(folder / "runc")]
        self.process = None

    def start(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([*self.runc, "run", "--bundle", self.folder, self.name],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(f"{self.folder.name} is ready", self.is_ready, 60)
        proc = pathlib.Path("/proc", str(json.loads(run(*self.runc, "state", self.name))["pid"]))
        assert re.search(r"^\S+ \S+ \S+ \S+ / ro[, ]", (proc / "mountinfo").read_text(), re.M), "the root is writable"
        status = (proc / "status").read_text()
        for line in (rf"Uid:\s+{USER}\s", r"CapEff:\s+0+$", r"CapBnd:\s+0+$", r"NoNewPrivs:\s+1$", r"Seccomp:\s+2$"):
            assert re.search(f"^{line}", status, re.M), f"{line}\n{status}"

    def get(self, path):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(OSError, urllib.error.URLError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
                return answer.read().decode()
        return None

    def is_ready(self):
        return self.get("/readyz") is not None

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(60) == 0, self.log()


class TheImage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        assert os.geteuid() == 0, "root is needed: for chroots and for users of the image"
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="argobus-image-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.builder = Builder(cls.folder)
        cls.builder.make_base()
        cls.image = cls.builder.build("one", INSTALL[BUILD])

    def test_a_second_build_has_the_same_digest(self):
        self.assertEqual(self.builder.build("two", AIR_GAPPED[BUILD]).digest, self.image.digest)

    def test_it_is_copied_to_a_registry(self):
        with registry(self.folder / "registry") as (address, cert):
            copy = COPY.text.replace("argobus.tar", str(self.image.archive)).replace("registry.example.com", address)
            env = {**os.environ, "SSL_CERT_FILE": str(cert)}
            run("bash", "-euc", copy, timeout=300, env=env)
            shown = json.loads(run("skopeo", "inspect", "--config", f"docker://{address}/argobus:0.1.0", env=env))
            self.assertEqual(shown["config"]["User"], f"{USER}:{USER}")

    def test_it_is_small(self):
        found = self.image.compressed_bytes()
        print(f"compressed: {found / 1e6:.1f} MB", flush=True)
        self.assertLessEqual(found, MOST_BYTES)

    def test_it_runs_as_nobody_that_root_is(self):
        self.assertEqual(self.image.config["config"]["User"], f"{USER}:{USER}")

    def test_it_has_no_shell_and_no_package_manager(self):
        self.assertEqual(sorted(path.name for path in (self.image.root / "usr/bin").iterdir()), sorted(PROGRAMS))

    def test_all_of_it_is_for_one_processor(self):
        self.assertEqual(self.image.config["architecture"], ARCH)
        heads = {path.name: path.read_bytes()[:20] for path in self.image.files}
        machines = {name: int.from_bytes(head[18:], "little") for name, head in heads.items() if head.startswith(b"\x7fELF")}
        self.assertGreater(len(machines), len(PROGRAMS))
        self.assertEqual({name for name, machine in machines.items() if machine != ELF_MACHINES[ARCH]}, set())

    def test_all_programs_run(self):
        for program in PROGRAMS:
            for option, expected in (("--version", f"{program} "), ("--help", f"usage: {program}")):
                said = run("chroot", f"--userspec={USER}:{USER}", self.image.root, *self.image.command(program, option))
                self.assertTrue(said.startswith(expected), said)

    def test_the_sbom_names_every_library_with_its_version(self):
        document = json.loads((self.image.root / "usr/share/argobus/sbom.spdx.json").read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        packages = {package["name"]: package for package in document["packages"]}
        self.assertEqual(packages["argobus"]["licenseDeclared"], "Apache-2.0")
        for name in ("libc6", "libssl3", "librdkafka1", "libuv1", "libcurl4", "ca-certificates"):
            self.assertRegex(packages[name]["versionInfo"], r"^[0-9]", name)
            self.assertTrue((self.image.root / "usr/share/doc" / name / "copyright").exists(), name)
            locator = packages[name]["externalRefs"][0]["referenceLocator"]
            architecture = "all" if name == "ca-certificates" else ARCH
            self.assertRegex(locator, rf"^pkg:deb/debian/{name}@[0-9A-Za-z.:~%-]+\?arch={architecture}$")
        ids = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len(document["relationships"]), len(ids))

    def test_the_validator_of_spdx_takes_the_sbom_but_none_that_is_broken(self):
        sbom = self.image.root / "usr/share/argobus/sbom.spdx.json"
        broken = self.folder / "broken.spdx.json"
        validator = pathlib.Path(run(SUPPORT / "venv", "spdx", VALIDATOR).strip(), "bin/pyspdxtools")
        run(validator, "--infile", sbom)
        for sound, wrong in (("SPDX-2.3", "SPDX-9.9"), ('"SPDXRef-libc6"', '"libc6"'), ("pkg:deb/", "deb/"), ("Organization: ", "")):
            broken.write_text(sbom.read_text().replace(sound, wrong))
            self.assertNotEqual(subprocess.run([validator, "--infile", broken], capture_output=True).returncode, 0, wrong)

    def test_two_programs_bring_an_application_over_a_broker(self):
        kafka = {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "prefix": f"image-{uuid.uuid4().hex[:8]}"}
        secrets = {"protection": "none"}
        live = {"protection": "none"}
        principal = Container(self.image, self.folder / "principal", "argobus-principal", {
            "agents": [{"name": "w1"}], "principal": {"data": "/var/lib/argobus/data"}, "secrets": secrets, "live": live,
            "kafka": {**kafka, "topics": "create", "replication-factor": 1, "min-insync-replicas": 1}})
        agent = Container(self.image, self.folder / "agent", "argobus-agent", {
            "agent": {"name": "w1", "data": "/var/lib/argobus/data"}, "secrets": secrets, "live": live, "kafka": kafka})
        for container in (principal, agent):
            self.addCleanup(container.stop)
            container.start()
        target = principal.folder / "state/store/w1/Application"
        target.mkdir(parents=True)
        shutil.copy(ROOT / "examples/applications/guestbook.yaml", target)
        for path in (target, target.parent, *target.iterdir()):
            os.chown(path, USER, USER)
        try:
            wait_for("guestbook is at the agent", (agent.folder / "state/store/argocd/Application/guestbook.yaml").exists, 60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{principal.log()[-3000:]}\n{agent.log()[-3000:]}") from error
        self.assertRegex(principal.get("/metrics"), r'argobus_build_info\{version="[0-9.]+",commit="[0-9a-f]{12}"\} 1')
        agent.stop()
        begin = time.monotonic()
        agent.start()
        print(f"start to ready: {time.monotonic() - begin:.2f} s", flush=True)


if __name__ == "__main__":
    unittest.main()
