#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which process argobusctl takes for the principal when nobody names a socket."""
import os
import select
import socket
import subprocess
import unittest

from ctl import BIN, Ctl

NOBODY = 65534


@unittest.skipUnless(os.geteuid() == 0, "only root asks processes of other users")
class AnotherUsers(Ctl):
    """A process of another user listens at the first place where argobusctl of root looks."""

    def setUp(self):
        super().setUp()
        place = self.folder / "run" / "argobus-principal"
        place.mkdir(parents=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(str(place / "control.sock"))
        self.listener.listen()
        for path in (place, place / "control.sock"):
            os.chown(path, NOBODY, NOBODY)
        self.env = {"RUNTIME_DIRECTORY": str(place)}

    def is_asked(self):
        """Whether argobusctl connects to it. A principal at one of the other places may be asked instead."""
        asking = subprocess.Popen([BIN / "argobusctl", "agent", "list"], env={**os.environ, **self.env},
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(asking.wait, 60)
        while True:
            has_ended = asking.poll() is not None
            if select.select([self.listener], [], [], 0.05)[0]:
                self.listener.accept()[0].close()
                return True
            if has_ended:
                return False

    def test_it_is_asked_where_only_root_could_have_made_its_folder(self):
        self.assertTrue(self.is_asked())

    def test_it_is_not_asked_where_everybody_could_have_made_its_folder(self):
        (self.folder / "run").chmod(0o1777)  # as /tmp
        self.assertFalse(self.is_asked())


if __name__ == "__main__":
    unittest.main()
