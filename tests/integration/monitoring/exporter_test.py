#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Kafka exporter that is not ours reads a real broker, configured as docs/operate/monitoring.md says: with it the dashboard kafka.json
has data, and shows the lag that argobus shows."""
import pathlib
import re
import shutil
import subprocess
import unittest

import assets
from daemons import Fleet, application, broker_ports
from fleet_test import VARIABLES, Prometheus
from held_disk import Disk
from ports import free_port
from waiting import wait_for

PAGE = assets.ROOT / "docs/operate/monitoring.md"
PROGRAM = pathlib.Path(__file__).with_name("klag-exporter")
NAMES = [f"app-{i}" for i in range(3)]
ONLY_KAFKA_EXPORTER = {"Brokers", "Under-replicated partitions"}
DASHBOARD = dict(assets.dashboards())["kafka"]


def configuration(prefix, port):
    """That of the page, for this broker and prefix, and read more often."""
    text = re.search(r"^```toml\n(.*?)^```", PAGE.read_text(), re.M | re.S).group(1)
    for old, new in (("kafka-1.example.com:9092", f"127.0.0.1:{broker_ports()['plain']}"), ("^argobus[.]", f"^{prefix}[.]"),
                     ("http_port = 8000", f"http_port = {port}"), ('"0.0.0.0"', '"127.0.0.1"'), ('"30s"', '"1s"')):
        assert old in text, old
        text = text.replace(old, new)
    return text


@unittest.skipUnless(shutil.which("cargo"), "no cargo here, which builds the exporter")
class Exporter(Fleet):
    def setUp(self):
        super().setUp()
        subprocess.run([PROGRAM], check=True, timeout=3000)
        self.disk = Disk(self.agent, self.folder / "agent" / "data")
        self.write("1")
        self.start()
        for name in NAMES:
            self.arrives(name, "1")
        port = self.start_exporter()
        jobs = {"argobus-principal": self.principal.port, "argobus-agent": self.agent.port, "kafka": port}
        self.prometheus = Prometheus(self.folder / "prometheus", jobs)
        self.addCleanup(self.prometheus.stop)
        wait_for("Prometheus scrapes", self.prometheus.is_scraping)

    def start_exporter(self):
        port = free_port()
        path = self.folder / "exporter.toml"
        path.write_text(configuration(self.prefix, port))
        with open(self.folder / "exporter.log", "wb") as log:
            process = subprocess.Popen([PROGRAM, "--config", path], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return port

    def write(self, value):
        for name in NAMES:
            self.hub.write("w1", name, application(name, value))

    def shown(self, query):
        for variable, value in dict(VARIABLES, **{"$prefix": self.prefix}).items():
            query = query.replace(variable, value)
        return [float(series["value"][1]) for series in self.prometheus.query(query)]

    def both_show(self, lag):
        queries = dict(assets.queries(DASHBOARD))
        for title in ("Lag as argobus measures it", "Lag of all groups"):
            wait_for(f"{title} is {lag}", lambda: self.shown(queries[title]) == [lag], 60)

    def test_each_query_of_the_dashboard_has_data(self):
        found = {(title, query) for title, query in assets.queries(DASHBOARD) if title not in ONLY_KAFKA_EXPORTER}
        self.assertEqual(len(found), len(assets.queries(DASHBOARD)) - len(ONLY_KAFKA_EXPORTER))
        for title, query in sorted(found):
            wait_for(f"{title} has data", lambda: self.shown(query), 60)
        [topics] = self.shown(dict(assets.queries(DASHBOARD))["Topics"])
        self.assertGreaterEqual(topics, 2)

    def test_the_lag_is_the_one_that_argobus_shows(self):
        self.both_show(0)
        with self.disk.held():
            self.write("2")
            self.both_show(len(NAMES))
        for name in NAMES:
            self.arrives(name, "2")
        self.both_show(0)


if __name__ == "__main__":
    unittest.main()
