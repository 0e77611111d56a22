#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""argobus-bench prints the rows that docs/benchmark.md explains, with the figures that each is to have; what these are is
not looked at."""
import json
import math
import os
import pathlib
import re
import subprocess
import unittest

from daemons import broker_ports

PAGE = pathlib.Path(__file__).parents[3].joinpath("docs", "benchmark.md").read_text()
FIELDS = re.search(r"\{(case, [^}]*)\}", PAGE).group(1).split(", ")
CASES = {case for line in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for case in re.findall(r"`(.*?)`", line)}
ELSEWHERE = re.compile(r"[.](go|idle|reconnect|large|of-go|refused|silent)\b")  # what other runs are for
PROCESS = {"cpu_s", "rss_kib"}
FIGURES = {"events/s": {"value", "limit", "ratio"}, "us/event": {"value", "limit", "ratio"},
           "ms": {"value", "limit", "ratio", "p50_ms", "p99_ms"}, "cpu-ms": {"value", "p99_ms"}, "us": {"value"},
           "bytes": {"value"}, "s": {"value", *PROCESS}, "%": {"value", *PROCESS}, "exponent": {"value", "limit", "ratio"},
           None: PROCESS}
LOADS = {"churn": set(), "noisy": {"limit", "ratio"}, "slow": {"limit", "ratio"}, "dead": {"limit", "ratio"}}  # of fleets


def measure(*cases):
    """Rows by their names."""
    command = [pathlib.Path(os.environ["AB_BIN"], "argobus-bench"), "--json", "--rounds", "1", *cases]
    broker = f"127.0.0.1:{broker_ports()['plain']}"
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=dict(os.environ, ARGOBUS_BENCH_BROKER=broker))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["case"]: row for row in rows}


def with_ends(*cases):
    return {case + end for case in cases for end in ("", ".sender", ".receiver")}


class Case(unittest.TestCase):
    def check(self, row):
        self.assertEqual(list(row), FIELDS)
        wanted = FIGURES[row["unit"]]
        if row["case"].endswith(".added"):
            wanted = wanted - {"limit", "ratio"}
        if ".hellos." in row["case"]:
            wanted = wanted | {"limit", "ratio"}
        if row["case"].startswith("fleet.") and row["unit"] == "ms":
            what = row["case"].split(".")[-2]
            wanted = {"turn": {"value", "cpu_s"}, "floor": {"value", "limit", "ratio", "p50_ms", "p99_ms"}}.get(what)
            wanted = wanted or {"value", "p50_ms", "p99_ms", *PROCESS, *LOADS[what]}
        has = {name for name, figure in row.items() if figure is not None and name not in ("case", "unit")}
        self.assertEqual(has, wanted, row)
        self.assertTrue(all(math.isfinite(row[name]) for name in has), row)


class Rows(Case):
    def check_all(self, rows, names, *families):
        self.assertEqual(set(rows), names)
        documented = {case for case in CASES if case.split(".")[0] in families and not ELSEWHERE.search(case)}
        self.assertTrue(documented)
        self.assertLessEqual(documented, names)
        for row in rows.values():
            self.check(row)

    def test_transport(self):
        names = {"transport.latency.added", "transport.3KiB.of-headers", "transport.20KiB.of-headers"}
        for size in ("3KiB", "20KiB", "latency"):
            names |= with_ends(f"raw.{size}", f"raw.headers.{size}", f"transport.{size}")
        self.check_all(measure("transport"), names, "raw", "transport")

    def test_grpc(self):
        flows = [f"grpc.{kind}3KiB{agents}" for kind in ("", "bare.") for agents in ("", ".100")]
        names = {"grpc.latency.added"} | {f"{flow}.cpu" for flow in flows}
        names |= with_ends("grpc.latency", "grpc.bare.latency", *flows)
        self.check_all(measure("grpc.flow", "grpc.latency"), names, "grpc")

    def test_core(self):
        whats = ("ready", "hellos", "tick", "first-round", "tick.idle", "round")
        rows = measure("sync.core")
        self.assertEqual(set(rows), {f"sync.core.{what}.{agents}" for what in whats for agents in (100, 300, 1000, 3000)})
        self.assertLessEqual({case for case in CASES if case.startswith("sync.core.")}, set(rows))
        for row in rows.values():
            self.check(row)

    def test_changes(self):
        whats = ("measure", "scrape", "account", "memory.pending", "memory.up-to-date")
        names = {f"changes.{what}.{agents}" for what in whats for agents in (100, 300, 1000, 3000)}
        self.check_all(measure("changes"), names, "changes")


class Fleets(Case):
    def check_fleet(self, prefix, *more):
        whats = ("start", "idle", "churn", "resync", "restart", "noisy", "slow", "dead")
        rows = measure("--agents", "5,20", "--seconds", "1", prefix)
        names = {f"{prefix}.{what}{turn}.{agents}" for what in whats for turn in ("", ".turn") for agents in (5, 20)}
        names |= {f"{prefix}.{what}.{agents}" for what in more for agents in (5, 20)}
        names |= {f"{prefix}.exponent.{what}" for what in ("memory", "start_cpu", "resync_cpu", "idle_cpu")}
        self.assertEqual(set(rows), names)
        for row in rows.values():
            self.check(row)
        return rows

    def test_fleet(self):
        rows = self.check_fleet("fleet", "floor")
        documented = {case.replace("1000", "20") for case in CASES if case.startswith("fleet.") and "grpc" not in case}
        self.assertTrue(documented)
        self.assertLessEqual(documented, set(rows))

    def test_fleet_over_grpc(self):
        self.check_fleet("fleet.grpc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
