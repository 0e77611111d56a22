# SPDX-License-Identifier: Apache-2.0
"""What every lint shares: the files of the tree, C without its comments and strings or these alone, and the report."""
import os
import re
import sys

SKIPPED_FOLDERS = {".git", ".cache", "build", "__pycache__", ".pytest_cache"}
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def root():
    """The tree to look at: the first argument, else this project's."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(here))


def files(top, *suffixes):
    """Paths below `top`, relative to it and sorted, whose name ends in one of `suffixes` (none = all)."""
    found = []
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        for name in sorted(names):
            if name != ".git" and (not suffixes or name.endswith(suffixes)):  # a file in a worktree of git's
                found.append(os.path.relpath(os.path.join(folder, name), top))
    return found


def read(top, path):
    """The text of a file, or "" for one that is not text."""
    with open(os.path.join(top, path), "rb") as f:
        data = f.read()
    return "" if b"\0" in data else data.decode("utf-8", "replace")


def code_only(text):
    """C text with comments and the insides of strings blanked; lines stay where they are."""
    def blank(match):
        token = match.group()
        if token[0] in "\"'":
            return token[0] + token[0]
        return "\n" * token.count("\n") or " "
    return _TOKEN.sub(blank, text)


def names_and_comments(text):
    """C text without the insides of strings and without includes; lines stay where they are."""
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.MULTILINE)
    return _TOKEN.sub(lambda m: m.group()[0] * 2 if m.group()[0] in "\"'" else m.group(), text)


def strings_only(text):
    """C text with everything but the insides of strings blanked, includes too; lines stay where they are."""
    text = re.sub(r"^[ \t]*#[ \t]*include[^\n]*", "", text, flags=re.MULTILINE)
    kept, end = [], 0
    for match in _TOKEN.finditer(text):
        kept.append(re.sub(r"\S", ";", text[end:match.start()]))
        token = match.group()
        kept.append(" " + token[1:-1] + " " if token[0] == '"' else ";" + "\n" * token.count("\n"))
        end = match.end()
    return "".join(kept)


def lines(text):
    """(number, line) pairs, from 1."""
    return enumerate(text.split("\n"), 1)


def finish(findings):
    """Print the findings, `path:line: text` each, and end: 1 when there are any."""
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
