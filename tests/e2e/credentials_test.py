# SPDX-License-Identifier: Apache-2.0
"""Credentials for the API server that end while an agent runs are replaced by those that somebody puts in their place."""
import datetime
import subprocess

import kubernetes
import pytest
from cluster import ARGOCD
from daemons import wait_for


pytestmark = pytest.mark.parametrize("shared_fleet", ["namespace"], indirect=True)

AUTHORITY = """[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
default_md = sha256
rand_serial = yes
unique_subject = no
policy = any
[any]
commonName = supplied
"""


class Lease:
    """The kubeconfig that the agent of w1 uses, of which the credentials are in files."""

    def __init__(self, fleet, folder):
        self.fleet, self.folder, self.cluster = fleet, folder, fleet.spokes["w1"]
        self.path = folder / "kubeconfig"
        (folder / "authority").write_text(AUTHORITY)
        (folder / "index").touch()

    def use(self, **user):
        self.cluster.kubeconfig(self.path, **user)
        self.fleet.reconfigure_agent("w1", store={"kubernetes": {"kubeconfig": str(self.path), "context": "argobus"}})

    def write_token(self, **spec):
        (self.folder / "token").write_text(self.cluster.token("argobus-agent", **spec))

    def write_certificate(self, seconds):
        """One that makes its holder the agent's service account, for so long."""
        def openssl(*args):
            subprocess.run(["openssl", *map(str, args)], cwd=self.folder, check=True, capture_output=True)
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "new.key", "-out", "csr",
                "-subj", f"/CN=system:serviceaccount:{ARGOCD}:argobus-agent")
        openssl("ca", "-batch", "-notext", "-config", "authority", "-cert", self.cluster.folder / "ca.crt",
                "-keyfile", self.cluster.folder / "ca.key", "-startdate", "20260101000000Z",
                "-enddate", end.strftime("%Y%m%d%H%M%SZ"), "-in", "csr", "-out", "new.crt")
        for name in ("key", "crt"):
            (self.folder / f"new.{name}").rename(self.folder / name)

    def is_refused(self):
        """Does the API server know it no more? What it found right it does not look at again for ten seconds."""
        client = kubernetes.config.new_client_from_config(str(self.path), context="argobus")
        try:
            kubernetes.client.VersionApi(client).get_code()
        except kubernetes.client.ApiException as refusal:
            return refusal.status == 401
        return False


@pytest.fixture
def lease(fleet, tmp_path):
    yield Lease(fleet, tmp_path)
    fleet.reconfigure_agent("w1")


def test_a_token_that_was_revoked_is_replaced_by_the_one_in_its_file(fleet, lease):
    bound = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "lease", "namespace": ARGOCD}}
    lease.cluster.create(bound)
    lease.write_token(boundObjectRef={"apiVersion": "v1", "kind": "Secret", "name": "lease"})
    lease.use(tokenFile=str(lease.folder / "token"))
    assert_replaced(fleet, lease, lambda: lease.cluster.remove(bound), lease.write_token)


def test_a_certificate_that_has_expired_is_replaced_by_the_one_in_its_file(fleet, lease):
    lease.write_certificate(60)  # in which the agent starts and is served, also where all is slow
    lease.use(**{"client-certificate": str(lease.folder / "crt"), "client-key": str(lease.folder / "key")})
    assert_replaced(fleet, lease, lambda: None, lambda: lease.write_certificate(3600))


def assert_replaced(fleet, lease, end, renew):
    agent = fleet.agents["w1"]
    app = fleet.application("guestbook")
    app.arrives()
    end()
    wait_for("the API server refuses it", lease.is_refused)
    app.revise("2")
    wait_for("the agent was refused", lambda: agent.metric(r'argobus_kubernetes_requests_total\{[^}]*code="401"[^}]*\}') > 0)
    assert app.spoke()["spec"]["source"]["targetRevision"] == "1"
    renew()
    app.arrives("2")
