#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/kafka/compose.yaml, without Docker: it is what Compose reads, and Kafka accepts what it sets."""
import os
import pathlib
import re
import tempfile
import unittest

import yaml

import broker

FOLDER = pathlib.Path(broker.ROOT, "deploy/kafka")


class Compose(unittest.TestCase):
    def setUp(self):
        self.document = yaml.safe_load((FOLDER / "compose.yaml").read_text())
        self.service = self.document["services"]["kafka"]

    def test_it_has_what_compose_reads(self):
        self.assertEqual(set(self.document), {"services", "volumes"})
        self.assertEqual(set(self.service), {"image", "ports", "environment", "volumes"})
        for mount in self.service["volumes"]:
            self.assertIn(mount.split(":")[0], self.document["volumes"])
        for value in self.service["environment"].values():
            self.assertIn(type(value), (str, int))  # Compose takes no booleans

    def test_its_release_is_the_one_that_the_tests_run(self):
        pom = pathlib.Path(broker.KAFKA_DEV).with_name("pom.xml").read_text()
        version = re.search(r"<kafka\.version>(.*?)<", pom)[1]
        self.assertEqual(self.service["image"], f"apache/kafka:{version}")

    def test_what_it_advertises_is_what_it_publishes(self):
        self.assertEqual(self.service["environment"]["KAFKA_ADVERTISED_LISTENERS"],
                         "PLAINTEXT://" + self.service["ports"][0].rsplit(":", 1)[0])

    def test_kafka_accepts_its_settings(self):
        # As the image does it: KAFKA_NODE_ID is node.id.
        settings = {name.removeprefix("KAFKA_").lower().replace("_", "."): value
                    for name, value in self.service["environment"].items()}
        with tempfile.TemporaryDirectory(prefix="argobus-test-") as folder:
            path = pathlib.Path(folder, "server.properties")
            settings["log.dirs"] = f"{folder}/data"
            path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            done = broker.run(broker.KAFKA_DEV, "tool", "storage", "format", "-t", "compose-cluster-0000000", "-c",
                              str(path), env=os.environ)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
