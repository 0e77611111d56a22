#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What argobusctl makes of a control socket where something else than a principal answers, or nothing does."""
import json
import socket
import threading
import unittest

from ctl import BIN, Ctl

ASKING = (("agent", "list"), ("lag",), ("deletions",), ("pending", "w1"), ("agent", "inspect", "w1"), ("resync",))


class Answers(Ctl):
    def setUp(self):
        super().setUp()
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(str(self.folder / "s"))

    def serve(self, answer):
        """Calls this with each connection."""
        self.listener.listen()

        def work():
            while True:
                try:
                    connection = self.listener.accept()[0]
                except OSError:
                    return
                with connection:
                    answer(connection)

        server = threading.Thread(target=work)
        server.start()
        self.addCleanup(server.join)
        self.addCleanup(self.listener.shutdown, socket.SHUT_RDWR)

    @staticmethod
    def respond(connection, document):
        connection.recv(4096)
        connection.sendall(json.dumps(document).encode())

    def ask(self, *args, code):
        return self.ctl(*args, "--socket", "s", code=code)

    def test_a_connection_that_is_closed_at_once_is_an_error(self):
        """Before or after the request is written."""
        self.serve(lambda connection: None)
        for _ in range(40):
            self.assertIn("the principal does not respond", self.ask("lag", code=3))

    def test_nothing_is_made_up_of_another_answer(self):
        document = {}
        self.serve(lambda connection: self.respond(connection, document))
        for document in ({}, {"agents": None, "objects": "none", "ok": 1}):
            for args in ASKING:
                with self.subTest(document=document, args=args):
                    self.assertIn("is it a principal's?", self.ask(*args, code=1))

    def test_held_deletions_that_are_not_named_are_told(self):
        """And a name that an agent sent does not speak to the terminal."""
        shown = {"direction": "down", "kind": "Application", "namespace": "w1", "name": "a\x1b[2J", "action": "delete",
                 "state": "held", "reason": "held: no proof", "since": None, "age_seconds": None}
        document = {"agent": {"name": "w1", "mode": "managed", "held": {"count": 103, "token": "fd0f3c1a"}},
                    "objects": [shown] * 100}
        self.serve(lambda connection: self.respond(connection, document))
        done = self.run_command(BIN / "argobusctl", "pending", "w1", "--socket", "s")
        self.assertIn("deletions held back that are not listed: 3; see argobusctl deletions", done.stderr)
        self.assertEqual(done.stdout.count("w1/a [2J"), 100)

    def test_a_principal_that_hangs_is_not_waited_for(self):
        self.listener.listen(0)
        while True:
            waiting = socket.socket(socket.AF_UNIX)
            self.addCleanup(waiting.close)
            waiting.setblocking(False)
            try:
                waiting.connect(str(self.folder / "s"))
            except BlockingIOError:
                break
        self.assertIn("does a principal listen there", self.ask("lag", code=3))

    def test_a_path_that_is_too_long_is_called_so(self):
        self.assertIn("File name too long", self.ctl("lag", "--socket", "x" * 200, code=3))


if __name__ == "__main__":
    unittest.main()
