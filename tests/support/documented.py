#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command blocks of the documentation, which tests run. tools/lint/commands looks that none is left out.

A block is ```sh, and the ```output that may follow is what it prints. A comment on the line before says what is special:
`<!-- run by FILE -->` names the test that runs it, where another one runs the rest of the page; `<!-- not run: REASON -->`
says why none does.

documented.py PAGE BY prints the blocks that BY runs, a zero byte after each.
"""
import dataclasses
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?: *<!-- (?P<how>run by|not run:) (?P<what>.*?) -->\n)?(?P<indent> *)```sh\n(?P<text>.*?)^ *```\n"
                   r"(?:\n*^ *```output\n(?P<output>.*?)^ *```\n)?", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Command:
    text: str
    output: str


def commands(page, by=None, env=()):
    """The blocks of a page that have no comment, or those that say that `by` runs them. A block that only exports variables, to
    what the reader has, is run here and not among them: `env` must have the test's own value of each."""
    found = [Command(textwrap.dedent(match["text"]), textwrap.dedent(match["output"] or ""))
             for match in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))
             if (match["how"], match["what"]) == (("run by", by) if by else (None, None))]
    assert found, f"{page} has no command for {by or 'its test'}"
    exports = [command for command in found if all(line.startswith("export ") for line in command.text.splitlines())]
    for command in exports:
        subprocess.run(["bash", "-euc", command.text], check=True)
        unset = [name for name in re.findall(r"^export (\w+)=", command.text, re.MULTILINE) if name not in env]
        assert not unset, f"{page} sets {unset}, and the test does not"
    return [command for command in found if command not in exports]


if __name__ == "__main__":
    for command in commands(*sys.argv[1:]):
        print(command.text, end="\0")
