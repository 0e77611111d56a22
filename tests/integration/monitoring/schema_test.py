#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboards as Grafana's own SDK reads them: its types are generated from the schema of the dashboard JSON. What it does not
know, or reads as something else, is missing from what it writes again."""
import copy
import json
import unittest

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

import assets

SCHEMA_MIN = 39  # of Grafana 11
EMPTY = (None, "", False, [], {})


def differences(ours, theirs, path=""):
    if isinstance(ours, dict):
        theirs = theirs if isinstance(theirs, dict) else {}
        for key, value in ours.items():
            if key in theirs:
                yield from differences(value, theirs[key], f"{path}.{key}")
            elif value not in EMPTY:
                yield f"{path}.{key} is not in the schema"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}[{i}]")
    elif ours != theirs:
        yield f"{path} is read as {theirs!r}"


def faults(dashboard):
    read = Dashboard.from_json(copy.deepcopy(dashboard))
    return list(differences(dashboard, json.loads(json.dumps(read, cls=JSONEncoder))))


def overlap(one, other):
    return (one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"] and
            one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"])


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plugins.register_default_plugins()

    def test_grafanas_sdk_reads_them_whole(self):
        for name, dashboard in assets.dashboards():
            self.assertEqual(faults(dashboard), [], name)
            self.assertGreaterEqual(dashboard["schemaVersion"], SCHEMA_MIN)

    def test_what_is_not_in_the_schema_is_found(self):
        dashboard = dict(assets.dashboards())["fleet"]
        dashboard["panels"][0]["gridPosition"] = dashboard["panels"][0].pop("gridPos")
        dashboard["panels"][1]["targets"][0]["expression"] = dashboard["panels"][1]["targets"][0].pop("expr")
        self.assertEqual(len(faults(dashboard)), 2)

    def test_panels_have_ids_titles_and_places_of_their_own(self):
        uids = [dashboard["uid"] for _, dashboard in assets.dashboards()]
        self.assertEqual(len(set(uids)), len(uids))
        for name, dashboard in assets.dashboards():
            panels = dashboard["panels"]
            for key in ("id", "title"):
                self.assertEqual(len({panel[key] for panel in panels}), len(panels), name)
            places = [panel["gridPos"] for panel in panels]
            for i, one in enumerate(places):
                self.assertLessEqual(one["x"] + one["w"], 24)
                self.assertFalse(any(overlap(one, other) for other in places[:i]), f"{name}: {panels[i]['title']}")
            self.assertTrue(all(panel["description"] for panel in panels), name)

    def test_the_variables_that_are_used_are_those_declared(self):
        for name, dashboard in assets.dashboards():
            self.assertEqual(assets.variables_used(dashboard), assets.variables_declared(dashboard), name)

    def test_a_variable_that_is_not_declared_is_found_wherever_it_is_used(self):
        fleet = dict(assets.dashboards())["fleet"]
        target = fleet["panels"][0]["targets"][0]
        for text in ('up{cluster=~"$cluster"}', 'up{cluster=~"${cluster}"}', "up{cluster=~'${cluster:regex}'}"):
            for place, key in ((target, "expr"), (fleet["panels"][0], "title"), (fleet["templating"]["list"][1], "query")):
                with self.subTest(text=text, key=key):
                    before, place[key] = place[key], text
                    self.assertEqual(assets.variables_used(fleet) - assets.variables_declared(fleet), {"cluster"})
                    place[key] = before
        self.assertEqual(assets.variables_used(fleet), assets.variables_declared(fleet))


if __name__ == "__main__":
    unittest.main()
