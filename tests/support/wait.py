# SPDX-License-Identifier: Apache-2.0
"""Waiting in tests: for a condition, with a bound."""
import time


def until(condition, what, seconds=60):
    """Return once `condition()` is true; fail, saying `what` did not happen, after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        time.sleep(0.05)
