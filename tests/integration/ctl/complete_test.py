#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tab key does in a real bash, with kubeconfigs in files."""
import os
import pty
import select
import subprocess
import time
import unittest

import yaml

from ctl import BIN, Ctl

PROMPT = b"ready> "
# What bash would do with the line is shown instead of being done.
SETUP = """source <(argobusctl completion bash)
show() { printf '<%s>' "$@"; echo; }
complete -o default -F _argobusctl show
bind 'set bell-style none'
"""


class Contexts(Ctl):
    def setUp(self):
        super().setUp()
        self.kubeconfig("a", "hub", "arn:aws:eks:eu-west-1:1:cluster/edge")
        self.kubeconfig("b", "hub", "w1")
        self.env = {"HOME": str(self.folder), "KUBECONFIG": "a:gone:b"}

    def kubeconfig(self, file, *contexts):
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts]}))

    def words(self, *words, **env):
        """Without what they mean."""
        self.env |= env
        done = self.run_command("argobusctl", "__complete", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    def test_contexts_are_those_of_KUBECONFIG_or_of_the_home_folder(self):
        self.assertEqual(self.words("check", "agent", "--context", ""), ["hub", "arn:aws:eks:eu-west-1:1:cluster/edge", "w1"])
        self.kubeconfig(".kube/config", "home", "two\nlines")
        self.assertEqual(self.words("revoke", "--context", "", KUBECONFIG=""), ["home"])

    def test_contexts_are_those_of_the_flag_for_a_kubeconfig(self):
        for words in (("--kubeconfig", "b", "--context", "w"), ("--kubeconfig=b", "--context", ""), ("--kubeconfig", "~/b", "--context", "")):
            self.assertIn("w1", self.words("check", "agent", *words), words)
            self.assertNotIn("arn:aws:eks:eu-west-1:1:cluster/edge", self.words("check", "agent", *words))
        self.assertEqual(self.words("check", "agent", "--kubeconfig=b", "--context=w"), ["--context=w1"])

    def test_a_kubeconfig_that_cannot_be_read_completes_nothing(self):
        (self.folder / "bad").write_text("contexts: [")
        for file in ("gone", "bad", "."):
            self.assertEqual(self.words("check", "agent", "--kubeconfig", file, "--context", ""), [])

    def read_to_prompt(self, terminal):
        text, until = b"", time.monotonic() + 60
        while not text.endswith(PROMPT):
            self.assertTrue(select.select([terminal], [], [], max(0, until - time.monotonic()))[0], text)
            text += os.read(terminal, 4096)
        return text.decode()

    def typed(self, line):
        """The words of the line that bash would run."""
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        (self.folder / "rc").write_text(SETUP + f"PS1='{PROMPT.decode()}'\n")
        env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", **self.env}
        with subprocess.Popen(["bash", "--noprofile", "--rcfile", "rc", "-i"], stdin=theirs, stdout=theirs, stderr=theirs,
                              cwd=self.folder, env=env, start_new_session=True) as shell:
            self.addCleanup(shell.kill)
            os.close(theirs)
            self.read_to_prompt(ours)
            os.write(ours, line.encode() + b"\n")
            shown = self.read_to_prompt(ours)
            shell.kill()
        return shown.splitlines()[-2].strip()

    def test_bash_completes_names_with_colons(self):
        arn = "arn:aws:eks:eu-west-1:1:cluster/edge"
        for typed, words in (("check agent --context ar\t", ["check", "agent", "--context", arn]),
                             ("check agent --context arn:aws:e\t", ["check", "agent", "--context", arn]),
                             ("check agent --context arn:\t", ["check", "agent", "--context", arn]),
                             ("check agent --context=arn:aws\t", ["check", "agent", f"--context={arn}"]),
                             ("check agent --context=w\t", ["check", "agent", "--context=w1"]),
                             ("check agent --kubeconfig=b --context w\t-o y\t", ["check", "agent", "--kubeconfig=b", "--context", "w1", "-o", "yaml"])):
            with self.subTest(typed=typed):
                self.assertEqual(self.typed(f"show {typed}"), "".join(f"<{word}>" for word in words))


if __name__ == "__main__":
    unittest.main()
