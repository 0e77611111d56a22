# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition, with a bound."""
import time


def wait_for(what, condition, seconds=120):
    """The first true answer of `condition`; fails with `what` when there is none in time. That is long, as a busy
    machine may take it."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
