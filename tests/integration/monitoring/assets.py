# SPDX-License-Identifier: Apache-2.0
"""What deploy/kafka/monitoring offers, as its tests look at it."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[3]
FOLDER = ROOT / "deploy/kafka/monitoring"
RULES = FOLDER / "rules.yaml"
RULES_TEST = FOLDER / "rules_test.yaml"
NAMES = FOLDER / "argocd_agent_names.yaml"
NAMES_TEST = FOLDER / "argocd_agent_names_test.yaml"
RUNBOOKS = ROOT / "docs/operate/runbooks.md"
NAME = re.compile(r"\bargobus_\w+")
USED = re.compile(r"\$\{?(\w+)")
LABEL_VALUES = re.compile(r"label_values\((.+),\s*(\w+)\)")
SUFFIXES = re.compile(r"_(bucket|sum|count)$")


def alerts():
    """The alert rules, in order."""
    import yaml  # schema_test, which asks for no rules, has a Python without it
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def dashboards():
    """(name, dashboard) of each file."""
    return [(path.stem, json.loads(path.read_text())) for path in sorted((FOLDER / "dashboards").glob("*.json"))]


def queries(dashboard):
    """(panel's title, expression) of all of its panels."""
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]


def variables_used(dashboard):
    """The names of $x and ${x} anywhere in it, without those that Grafana itself defines."""
    return {name for name in USED.findall(json.dumps(dashboard)) if not name.startswith("__")}


def variables_declared(dashboard):
    return {variable["name"] for variable in dashboard["templating"]["list"]}


def label_values(dashboard):
    """(variable, selector of series, label) of each variable whose values are looked up in Prometheus."""
    lookups = [variable for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    return [(variable["name"], *LABEL_VALUES.fullmatch(variable["query"]).groups()) for variable in lookups]


def metrics_of(expression):
    """The names of argobus's metrics in it, without what Prometheus adds to those of histograms."""
    return {SUFFIXES.sub("", name) for name in NAME.findall(expression)}


def documented():
    """Name -> labels, of docs/metrics.md, which a lint compares with the sources."""
    rows = re.findall(r"^\| `(argobus_\w+)` \| ([^|]*) \|", (ROOT / "docs/metrics.md").read_text(), re.M)
    return {name: {label for label in labels.replace(" ", "").split(",") if label} for name, labels in rows}
