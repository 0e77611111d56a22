#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tab key does in a real bash, zsh and fish, with kubeconfigs in files."""
import dataclasses
import os
import pty
import select
import subprocess
import time
import unittest

import yaml

from ctl import BIN, Ctl

PROMPT = b"ready> "
ARN = "arn:aws:eks:eu-west-1:1:cluster/edge"
# What the shell would do with the line is written to a file instead of being done.
SHOW = """show() { printf '<%s>' "$@" >part; mv part shown; }
"""


@dataclasses.dataclass(frozen=True)
class Shell:
    """A shell that reads `setup` from the file `config` when it starts, and has the completion script in the file `script`."""
    command: tuple
    config: str
    setup: str
    script: str = "unused"


SHELLS = {
    "bash": Shell(("bash", "--noprofile", "--rcfile", "rc", "-i"), "rc", SHOW + f"""source <(argobusctl completion bash)
complete -o default -F _argobusctl show
PS1='{PROMPT.decode()}'
"""),
    "zsh": Shell(("zsh", "-i"), ".zshrc", SHOW + f"""autoload -Uz compinit
compinit -u -D
source <(argobusctl completion zsh)
compdef _argobusctl show
PS1='{PROMPT.decode()}'
"""),
    "zsh, installed": Shell(("zsh", "-i"), ".zshrc", SHOW + f"""fpath=($HOME/functions $fpath)
autoload -Uz compinit
compinit -u -D
compdef show=argobusctl
PS1='{PROMPT.decode()}'
""", "functions/_argobusctl"),
    "fish": Shell(("fish", "-i"), ".config/fish/config.fish", f"""function show; printf '<%s>' $argv >part; mv part shown; end
complete --command show --wraps argobusctl
function fish_prompt; printf '{PROMPT.decode()}'; end
function fish_greeting; end
""", ".config/fish/completions/argobusctl.fish"),
}


class Complete(Ctl):
    def setUp(self):
        super().setUp()
        self.kubeconfig("a", "hub", ARN)
        self.kubeconfig("b", "hub", "w1")
        self.env = {"HOME": str(self.folder), "KUBECONFIG": "a:gone:b"}

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def kubeconfig(self, file, *contexts):
        self.write(file, yaml.safe_dump({"contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in contexts]}))

    def words(self, *words, **env):
        """Without what they mean."""
        self.env |= env
        done = self.run_command("argobusctl", "__complete", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    def test_contexts_are_those_of_KUBECONFIG_or_of_the_home_folder(self):
        self.assertEqual(self.words("check", "agent", "--context", ""), ["hub", ARN, "w1"])
        self.kubeconfig(".kube/config", "home", "two\nlines")
        self.assertEqual(self.words("revoke", "--context", "", KUBECONFIG=""), ["home"])

    def test_contexts_are_those_of_the_flag_for_a_kubeconfig(self):
        for words in (("--kubeconfig", "b", "--context", "w"), ("--kubeconfig=b", "--context", ""), ("--kubeconfig", "~/b", "--context", "")):
            self.assertIn("w1", self.words("check", "agent", *words), words)
            self.assertNotIn(ARN, self.words("check", "agent", *words))
        self.assertEqual(self.words("check", "agent", "--kubeconfig=b", "--context=w"), ["--context=w1"])

    def test_a_kubeconfig_that_cannot_be_read_completes_nothing(self):
        (self.folder / "bad").write_text("contexts: [")
        for file in ("gone", "bad", "."):
            self.assertEqual(self.words("check", "agent", "--kubeconfig", file, "--context", ""), [])

    def read_until(self, terminal, done):
        """Reads what the shell writes to its terminal, until that satisfies `done`."""
        text, until = b"", time.monotonic() + 60
        while not done(text):
            self.assertLess(time.monotonic(), until, text)
            if select.select([terminal], [], [], 0.05)[0]:
                text += os.read(terminal, 4096)

    def typed(self, name, line):
        """The words of the line that this shell would run."""
        shell, shown = SHELLS[name], self.folder / "shown"
        shown.unlink(missing_ok=True)
        self.write(shell.config, shell.setup)
        self.write(shell.script, self.ctl("completion", shell.command[0]))
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "dumb", "ZDOTDIR": str(self.folder),
               "XDG_CONFIG_HOME": str(self.folder / ".config"), "XDG_DATA_HOME": str(self.folder / ".local"), **self.env}
        # fish works only with a terminal that is its own.
        with subprocess.Popen(["setsid", "--ctty", *shell.command], stdin=theirs, stdout=theirs, stderr=theirs,
                              cwd=self.folder, env=env) as process:
            self.addCleanup(process.kill)
            os.close(theirs)
            self.read_until(ours, lambda text: PROMPT in text)
            os.write(ours, f"show {line}\r".encode())
            self.read_until(ours, lambda text: shown.exists())
            process.kill()
        return shown.read_text()

    def check_typed(self, *cases):
        for name in SHELLS:
            for typed, words in cases:
                with self.subTest(name, typed=typed):
                    self.assertEqual(self.typed(name, typed), "".join(f"<{word}>" for word in words))

    def test_shells_complete_commands_flags_and_values(self):
        self.write("pendulum.yaml", "")  # is not a command, whatever the shell does with files
        self.check_typed(("pend\t", ["pending"]),
                         ("agent insp\t", ["agent", "inspect"]),
                         ("completion f\t", ["completion", "fish"]),
                         ("agent list --outp\ty\t", ["agent", "list", "--output", "yaml"]),
                         ("agent list --output=j\t", ["agent", "list", "--output=json"]),
                         ("check agent -c pend\t", ["check", "agent", "-c", "pendulum.yaml"]))

    def test_shells_complete_names_with_colons(self):
        self.check_typed(("check agent --context ar\t", ["check", "agent", "--context", ARN]),
                         ("check agent --context arn:aws:e\t", ["check", "agent", "--context", ARN]),
                         ("check agent --context arn:\t", ["check", "agent", "--context", ARN]),
                         ("check agent --context=arn:aws\t", ["check", "agent", f"--context={ARN}"]),
                         ("check agent --context=w\t", ["check", "agent", "--context=w1"]),
                         ("check agent --kubeconfig=b --context w\t-o y\t",
                          ["check", "agent", "--kubeconfig=b", "--context", "w1", "-o", "yaml"]))


if __name__ == "__main__":
    unittest.main()
