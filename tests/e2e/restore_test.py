# SPDX-License-Identifier: Apache-2.0
"""The control plane's etcd is put back to a backup under a running principal."""
import os
import re
import shutil
import subprocess

from daemons import wait_for
from documented import commands
from objects import SYNCED, cluster_secret

LATER = {**SYNCED, "health": {"status": "Degraded"}}


def back_up(cluster, folder):
    cluster.kube_dev("kill")
    shutil.copytree(cluster.folder / "etcd", folder)
    cluster.kube_dev("start")


def restore(cluster, folder):
    cluster.kube_dev("kill")
    shutil.rmtree(cluster.folder / "etcd")
    shutil.copytree(folder, cluster.folder / "etcd")
    cluster.kube_dev("start")


def confirm(fleet):
    """As docs/operate/backups.md says, with the token of /readyz instead of the page's."""
    fleet.hub.create(cluster_secret("w1"))
    [command] = commands("docs/operate/backups.md", by="tests/e2e/restore_test.py")
    text, count = re.subn(r"(?<=confirm-deletions=)[0-9a-f]{8}$", fleet.principal.get("/readyz").split()[-1], command.text.strip())
    assert count == 1
    programs = subprocess.run([os.environ["KUBE_DEV"], "programs"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["bash", "-euc", text], check=True, timeout=60, env={
        **os.environ, "KUBECONFIG": str(fleet.hub.folder / "kubeconfig"), "PATH": f"{programs}:{os.environ['PATH']}"})


def restarted(fleet):
    """As its supervisor does it when the principal ends by itself."""
    assert fleet.principal.process.wait(120) != 0
    fleet.principal.process = None
    fleet.start("principal")


def test_what_the_backup_lacks_stays_at_the_agents_and_statuses_come_back(own_fleet, tmp_path):
    fleet = own_fleet("namespace")
    fleet.start()
    app = fleet.application("guestbook")
    app.arrives()
    app.set_status(SYNCED)
    app.reports(lambda status: status == SYNCED)
    back_up(fleet.hub, tmp_path / "etcd")
    made_since = fleet.application("made-since")
    made_since.arrives()
    app.set_status(LATER)
    app.reports(lambda status: status == LATER)
    restore(fleet.hub, tmp_path / "etcd")
    restarted(fleet)
    assert "the store was restored from a backup" in fleet.principal.log.read_text()
    app.reports(lambda status: status == LATER)
    wait_for("the deletion is held back", lambda: fleet.principal.metric("argobus_deletions_held") == 1)
    assert made_since.spoke() is not None
    confirm(fleet)
    wait_for("it is deleted", lambda: made_since.spoke() is None)
