#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The state databases of a principal and of agents of both modes are damaged: each program says which file it is and what to do,
and when that is done as docs/operate/backups.md says, all of them are in step again, and nothing is deleted or written anew."""
import pathlib
import subprocess
import unittest

import yaml

from both_modes import BothModes
from documented import commands

PAGE_BYTES = 4096


def in_its_head(content):
    return bytes(100) + content[100:]


def behind_its_head(content):
    return content[:PAGE_BYTES] + b"\xff" * (len(content) - PAGE_BYTES)


class DamagedState(BothModes):
    def test_each_program_names_the_file_and_starts_without_it(self):
        def damage():
            self.stop()
            for daemon, how in zip(self.daemons(), (behind_its_head, in_its_head, behind_its_head), strict=True):
                self.is_damaged(daemon, how)
            self.start()
        self.survives(damage)

    def is_damaged(self, daemon, how):
        config = yaml.safe_load(daemon.config.read_text())
        folder = pathlib.Path(config.get("agent", config.get("principal"))["data"])
        file = folder / "kept.sqlite"
        self.assertFalse(file.with_name("kept.sqlite-wal").exists(), "it did not end in order")
        file.write_bytes(how(file.read_bytes()))
        ended = subprocess.run([daemon.program, "-c", daemon.config], text=True, capture_output=True, timeout=120)
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn("cannot start", ended.stderr)
        self.assertIn(f"{file}: the file is damaged: stop the program, remove the file, and start", ended.stderr)
        [remove] = commands("docs/operate/backups.md", by="tests/integration/services/damaged_state_test.py")
        self.assertIn("/var/lib/argobus-agent/data", remove.text)
        subprocess.run(["sh", "-euc", remove.text.replace("/var/lib/argobus-agent/data", str(folder))], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
