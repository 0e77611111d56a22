# SPDX-License-Identifier: Apache-2.0
"""A disk that does not answer, by the library of disk/held_disk.c in the folder of the programs, AB_BIN."""
import contextlib
import fcntl
import os
import pathlib


class Disk:
    """The disk below a folder, for one daemon that is started after this."""

    def __init__(self, daemon, folder):
        self.lock = daemon.folder / "disk"
        self.lock.touch()
        self.waits = pathlib.Path(f"{self.lock}.waits")
        library = pathlib.Path(os.environ["AB_BIN"], "libheld_disk.so")
        daemon.env = {"LD_PRELOAD": str(library), "AB_HELD_FOLDER": str(folder), "AB_HELD_LOCK": str(self.lock)}

    @contextlib.contextmanager
    def held(self):
        self.waits.unlink(missing_ok=True)
        with open(self.lock, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
