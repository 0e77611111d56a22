# SPDX-License-Identifier: Apache-2.0
"""argobusctl, run in a folder of the test's own."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

from documented import commands

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ["AB_BIN"])


def shifted_clock(file, seconds):
    """What makes the clock of a program wrong, by tests/support/clock."""
    file.write_bytes(struct.pack("=q", seconds))
    return {"LD_PRELOAD": str(BIN / "libshifted_clock.so"), "AB_CLOCK_SHIFT": str(file)}


def kube_dev(command, *args, text=None, **env):
    done = subprocess.run([os.environ["KUBE_DEV"], command, *args], input=text, text=True, capture_output=True, timeout=300,
                          env={**os.environ, **env})
    assert done.returncode == 0, f"{command} {args}\n{done.stderr}"
    return done.stdout


def kubectl(*args, text=None):
    return kube_dev("kubectl", "test", *args, text=text)


class Ctl(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="argobus-test-", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.env = {}

    def shift_the_clock(self, seconds):
        """For the commands from now on."""
        self.env = shifted_clock(self.folder / "clock", seconds)

    def run_command(self, *command):
        env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **self.env}
        return subprocess.run([str(part) for part in command], cwd=self.folder, env=env, capture_output=True, text=True,
                              timeout=120)

    def ctl(self, *args, code=0):
        """What it prints when it ends with this code: on standard output for 0, else on standard error."""
        done = self.run_command(BIN / "argobusctl", *args)
        self.assertEqual(done.returncode, code, f"{args}\n{done.stdout}\n{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def openssl(self, *args):
        done = self.run_command("openssl", *args)
        self.assertEqual(done.returncode, 0, f"{args}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def run_page(self, page, normal):
        """Runs each ```sh block of a page; the lines of the ```output block after it must be printed."""
        for command in commands(page):
            done = self.run_command("bash", "-euo", "pipefail", "-c", command.text)
            self.assertEqual(done.returncode, 0, f"{command.text}\n{done.stdout}\n{done.stderr}")
            shown = normal(done.stdout + done.stderr)
            for line in normal(command.output):
                self.assertIn(line, shown, command.text)
