# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that begin to listen later, and again after an end."""
import os
import random
import socket

FIRST, LAST = 16000, 16999  # below those that the kernel gives to clients, and apart from those of the *-dev scripts
kept = []


def free_port():
    """One that nobody gets by chance before it is listened on; no other test has it while this process runs."""
    for port in random.sample(range(FIRST, LAST + 1), LAST + 1 - FIRST):
        mine = socket.socket(socket.AF_UNIX)
        try:
            mine.bind(f"\0argobus-test-port-{port}-{os.getuid()}")
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind(("127.0.0.1", port))
        except OSError:
            mine.close()
            continue
        kept.append(mine)
        return port
    raise AssertionError(f"no free port between {FIRST} and {LAST}")
