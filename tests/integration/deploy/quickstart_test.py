#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./quickstart where it cannot work: it says what is in the way and ends, before it builds or starts anything. And how it compares
what it shows with the sample in README.md."""
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[3]


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-")
        self.addCleanup(folder.cleanup)
        self.bin = pathlib.Path(folder.name)
        self.stub("cmake", "exit 1")  # should it go on all the same

    def stub(self, name, script):
        """A command of the machine that says something else."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def refused(self, *words, **environment):
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", **environment}
        done = subprocess.run([ROOT / "quickstart", "--check", "--transport", "grpc"], env=env, capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FAIL", done.stdout)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)
        self.assertNotIn("build: ", done.stdout)

    def test_a_port_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.refused(f"port {port} of 127.0.0.1 is in use", "QUICKSTART_PORT", QUICKSTART_PORT=str(port - 3))

    def test_a_full_disk_is_named(self):
        self.stub("df", "echo Filesystem Size Used Avail; echo /dev/x 5000 4993 7")
        self.refused("no space: ", " has 7 MiB left and 1024 MiB are needed")

    def test_without_a_network_what_could_not_be_installed_is_told(self):
        self.stub("dpkg-query", "exit 1")
        self.stub("id", "echo 0")
        self.stub("apt-get", '[ "$1" = update ] || { echo "Could not resolve packages.example.com" >&2; exit 100; }')
        self.refused("Could not resolve packages.example.com", "Is there a network")


class Sample(unittest.TestCase):
    """README.md's, compared with lines that a run has shown."""
    def setUp(self):
        [self.text] = re.findall(r"^Sample output of .*?```text\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)

    def compare(self, shown):
        script = ". tools/quickstart/steps.sh; . tools/quickstart/processes.sh; shown=$1; readme_sample"
        return subprocess.run(["bash", "-uo", "pipefail", "-c", script, "bash", shown], cwd=ROOT, capture_output=True, text=True, timeout=60)

    def test_a_run_of_other_times_and_more_lines_has_shown_it(self):
        done = self.compare(re.sub(r"\d+ ms", "1234 ms", self.text).replace("\n> ", "\n    more\n\n> ") + "more\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_line_that_was_not_shown_or_later_is_named(self):
        lines = [line for line in self.text.splitlines() if line.strip() != "..."]
        for shown in ([*lines[:2], *lines[3:]], [*lines[:2], lines[2] + " or not", *lines[3:]], [*lines[:2], *lines[3:], lines[2]]):
            done = self.compare("\n".join(shown))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"< {lines[2]}", done.stderr)


if __name__ == "__main__":
    unittest.main()
