#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Terminals through the principal: the WebSocket that argocd-server opens for its page."""
import contextlib
import json
import os
import unittest

from access import Access
from daemons import wait_for
from viewers import RESIZE, STATUS, STDERR, STDIN, STDOUT, V4, V5, WebSocket


class Shells(Access):
    """With a Pod in which terminals can be opened."""

    live = {"exec": True}
    script = "exec sleep 1000"

    def setUp(self):
        super().setUp()
        self.run_pod("shell", self.script)
        self.ask_when_there("GET", "/version")

    def open(self, *command, protocols=(V5, V4), tty=False, pod="shell", container="main"):
        query = "".join(f"&command={word}" for word in command)
        socket = WebSocket(self.connect(), f"{self.path('pods', pod)}/exec?container={container}&stdin=true&stdout=true"
                           f"&stderr={str(not tty).lower()}&tty={str(tty).lower()}{query}", *protocols)
        self.addCleanup(socket.close)
        return socket

    def end_of(self, socket):
        """The Status on channel 3, and the code of the closing frame."""
        status = b""
        while (message := socket.receive()) is not None:
            if message[0] == STATUS:
                status += message[1:]
        return json.loads(status), socket.close_code


class Terminal(Shells):
    def test_what_is_typed_comes_back_and_the_exit_code_is_told(self):
        for protocols in ((V5, V4), (V4,)):
            shell = self.open("bash", protocols=protocols)
            self.assertEqual((shell.code, shell.fields["sec-websocket-protocol"]), (101, protocols[0]))
            shell.say(STDIN, b"echo $((6 * 7)); echo oops >&2; exit 3\n")
            seen = {}
            while (message := shell.receive()) is not None:
                seen[message[0]] = seen.get(message[0], b"") + message[1:]
            status = json.loads(seen[STATUS])
            self.assertEqual((seen[STDOUT], seen[STDERR]), (b"42\n", b"oops\n"))
            self.assertEqual((status["reason"], status["details"]["causes"][0]["message"]), ("NonZeroExitCode", "3"))
            self.assertEqual(shell.close_code, 1000)
        wait_for("two lines", lambda: len(self.audited("verb=connect", "pods/exec", "code=101")) == 2)

    def test_a_window_has_its_size_and_a_key_its_echo(self):
        shell = self.open("bash", tty=True)
        shell.say(RESIZE, b'{"Width":113,"Height":47}')
        # A kubelet reads what is typed and the size from two streams, in no order.
        shell.say(STDIN, b"until stty size | grep -q 113; do sleep 0.1; done; stty size\n")
        shell.until(STDOUT, b"47 113")
        shell.say(STDIN, b"x")
        shell.until(STDOUT, b"x")

    def test_much_comes_whole(self):
        shell = self.open("bash")
        shell.say(STDIN, b"head -c 5000000 /dev/zero | tr '\\0' x; exit\n")
        count = 0
        while (message := shell.receive()) is not None:
            count += len(message) - 1 if message[0] == STDOUT else 0
        self.assertEqual((count, shell.close_code), (5000000, 1000))

    def test_what_runs_ends_with_its_viewer(self):
        shell = self.open("bash")
        mark = f"sleep 98{os.getpid()}"
        shell.say(STDIN, f"echo here; exec {mark}\n".encode())
        shell.until(STDOUT, b"here")
        shell.close()
        wait_for("the process is gone", lambda: not any(
            self.command_of(pid) == mark for pid in os.listdir("/proc") if pid.isdigit()))
        wait_for("it is counted no more", lambda: self.principal.metric("argobus_live_open") == 0)

    @staticmethod
    def command_of(pid):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().replace(b"\0", b" ").decode().strip()
        return ""

    def test_an_agent_that_dies_ends_the_terminal(self):
        shell = self.open("bash")
        shell.say(STDIN, b"echo here\n")
        shell.until(STDOUT, b"here")
        self.agent.kill()
        self.assertIsNone(shell.receive())
        self.assertEqual(shell.close_code, 1011)
        self.agent.start()

    def test_a_pod_that_is_not_there_is_a_status(self):
        refused = self.open("bash", pod="none")
        self.assertEqual((refused.code, refused.body()["reason"]), (404, "NotFound"))

    def test_what_is_not_a_terminal_of_ours_is_refused(self):
        self.assertEqual(self.open("bash", protocols=("other",)).code, 400)
        other = WebSocket(self.connect(), self.path("pods", "shell"), V5)
        self.assertEqual(other.code, 400)
        spdy = self.ask("POST", self.path("pods", "shell") + "/exec?command=bash")
        self.assertEqual(spdy.code, 400)


class Attached(Shells):
    """To the main process of a container."""

    script = "while read -r line; do echo got $line; done"

    def test_what_is_typed_reaches_it_and_what_it_says_comes_back(self):
        for protocols in ((V5, V4), (V4,)):
            socket = WebSocket(self.connect(), f"{self.path('pods', 'shell')}/attach?container=main&stdin=true"
                               "&stdout=true", *protocols)
            self.addCleanup(socket.close)
            self.assertEqual((socket.code, socket.fields["sec-websocket-protocol"]), (101, protocols[0]))
            socket.say(STDIN, b"hello\n")
            socket.until(STDOUT, b"got hello\n")
            socket.close()
        wait_for("two lines", lambda: len(self.audited("verb=connect", "pods/attach", "code=101")) == 2)


class Limited(Shells):
    live = {"exec": True, "terminal": {"idle": "2s", "limit": "8s"}}

    def end(self, shell):
        status, code = self.end_of(shell)
        self.assertEqual((status["status"], status["code"], code), ("Failure", 504, 1000))
        return status["message"]

    def test_a_terminal_in_which_nothing_moves_is_ended(self):
        self.assertIn("live.terminal.idle", self.end(self.open("bash")))

    def test_a_terminal_in_which_something_moves_is_ended_at_its_limit(self):
        shell = self.open("bash")
        shell.say(STDIN, b"while sleep 0.1; do echo busy; done\n")
        self.assertIn("live.terminal.limit", self.end(shell))


class Refused(Shells):
    """The agent does not allow terminals, which is the default."""

    live = {}

    def test_a_terminal_names_the_option(self):
        for subresource in ("exec?command=bash&", "attach?"):
            refused = WebSocket(self.connect(), f"{self.path('pods', 'shell')}/{subresource}container=main&stdout=true", V5)
            self.addCleanup(refused.close)
            self.assertEqual((refused.code, refused.body()["reason"]), (403, "Forbidden"))


unittest.main()
