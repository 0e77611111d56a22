# SPDX-License-Identifier: Apache-2.0
"""One hub and two spokes for the whole run, a fleet for each mapping and transport; each scenario finds and leaves them
empty. All scenarios run over Kafka; over gRPC those that concern the transport, or with --all-transports all.

AB_E2E_KEEP=1 uses clusters that run already, and leaves them and the logs; the environment is as tests/e2e/CMakeLists.txt
sets it.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import tempfile

import pytest
from cluster import Cluster
from stage import enter, on_stage, running

KEEP = "AB_E2E_KEEP" in os.environ
NAMES = ("hub", "w1", "w2")

signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the run, nothing is left behind


@pytest.fixture(scope="session")
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="argobus-e2e-"))
    yield path
    if not KEEP:
        shutil.rmtree(path)


def bring_up(name):
    cluster = Cluster(name)
    try:
        if KEEP:
            with contextlib.suppress(Exception):
                cluster.connect()
                cluster.list("AppProject")
                return cluster
        cluster.start()
    except Exception as error:
        cluster.stop()
        raise AssertionError(f"cluster {name} did not start") from error
    return cluster


@pytest.fixture(scope="session")
def clusters():
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = dict(zip(NAMES, pool.map(bring_up, NAMES), strict=True))
    found["hub"].grant("principal")
    for name in ("w1", "w2"):
        found["hub"].namespace(name)
        found[name].grant("agent")
    yield found
    if not KEEP:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(Cluster.stop, found.values()))


# What is sent, answered, lost and made good; the rest is about stores and what stands in them.
CONCERN_THE_TRANSPORT = {"agents_test", "autonomous_test", "basic_test", "blocklist_test", "delete_test", "registration_test",
                         "repository_test", "resync_test", "sync_test"}


def pytest_addoption(parser):
    parser.addoption("--all-transports", action="store_true", help="every scenario over every transport")


def is_left_out(item):
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return params.get("transport") == "grpc" and (
        item.module.__name__ not in CONCERN_THE_TRANSPORT or params.get("shared_fleet") == "destination")


def pytest_collection_modifyitems(config, items):
    left_out = [] if config.getoption("--all-transports") else [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", params=["kafka", "grpc"])
def transport(request):
    return request.param


@pytest.fixture(scope="session", params=["namespace", "destination"])
def shared_fleet(request, transport, clusters, folder):
    with running(request.param, transport, clusters, folder / f"{request.param}-{transport}") as fleet:
        fleet.start()
        yield fleet


@pytest.fixture
def fleet(shared_fleet):
    """All run, nothing is there."""
    enter(shared_fleet)
    shared_fleet.start()
    yield shared_fleet
    shared_fleet.clean_up()


@pytest.fixture
def own_fleet(clusters, transport):
    """own_fleet(mapping, **principal_options): one that the scenario configures and starts."""
    with contextlib.ExitStack() as stack:
        def make(mapping, **principal):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="argobus-e2e-"))
            if not KEEP:
                stack.callback(shutil.rmtree, folder)
            return stack.enter_context(running(mapping, transport, clusters, folder, **principal))
        yield make


@pytest.fixture(params=["principal", "w1", "broker"])
def missing(request, transport):
    """Who is away while things change."""
    if request.param == "broker" and transport != "kafka":
        pytest.skip("there is no broker")
    return request.param


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for name, tail in (item for fleet in on_stage for item in fleet.tails().items()):
            report.sections.append((f"log of {name}", tail))
