# SPDX-License-Identifier: Apache-2.0
"""A principal at the hub and an agent at each spoke, as processes, with no right but those of deploy/kubernetes/rbac."""
import contextlib
import os
import pathlib
import uuid

import objects
from cluster import ARGOCD
from daemons import Daemon, broker_ports, free_port, kafka_dev, wait_for
from kubernetes.dynamic.exceptions import ApiException

# Of these kinds scenarios make objects; the label leaves alone the Secrets that clusters come with.
KINDS = (("Application", None), ("AppProject", None), ("Secret", "argocd.argoproj.io/secret-type"))
FORBIDDEN = r'argobus_kubernetes_requests_total\{[^}]*code="403"[^}]*\}'


def certificate(name):
    """Files: certificate and key of "server" (the principal) or of an agent, and the authority that issued them."""
    folder = pathlib.Path(os.environ["AB_GRPC_CERTS"])
    return {"cert": str(folder / f"{name}.crt"), "key": str(folder / f"{name}.key"), "ca": str(folder / "ca.crt")}


def merged(config, more):
    """`more` wins; the members of maps are taken one by one."""
    both = {**config, **more}
    return {key: {**config[key], **value} if isinstance(value, dict) and key in config else value
            for key, value in both.items()}


class Fleet:
    """`mapping` says where the hub keeps an agent's Applications: in its namespace, or by their destination."""

    def __init__(self, mapping, transport, hub, spokes, folder, **principal):
        self.mapping, self.transport, self.hub, self.spokes, self.folder = mapping, transport, hub, spokes, folder
        self.prefix = f"e2e-{mapping[:4]}-{uuid.uuid4().hex[:8]}"
        self.grpc_port = free_port()
        self.principal = Daemon("argobus-principal", folder / "principal", {})
        self.agents = {name: Daemon("argobus-agent", folder / name, {}) for name in spokes}
        self.configure_principal(**principal)
        for name in spokes:
            self.configure_agent(name)

    @property
    def daemons(self):
        return {"principal": self.principal, **self.agents}

    def home(self, agent="w1"):
        """The namespace of the hub where an agent's Applications are made."""
        return agent if self.mapping == "namespace" else ARGOCD

    # Configuration

    def carried(self, name):
        """How events travel; `name`: whose certificate."""
        if self.transport == "grpc":
            return {"listen": f"127.0.0.1:{self.grpc_port}", "address": f"localhost:{self.grpc_port}",
                    "tls": certificate(name)}
        return {"brokers": [f"127.0.0.1:{broker_ports()['plain']}"], "insecure": True, "prefix": self.prefix}

    def shared(self, cluster, account, folder, name):
        kubeconfig = cluster.kubeconfig(folder / "kubeconfig", token=cluster.token(account))
        config = {
            "mapping": self.mapping,
            "transport": self.transport,
            self.transport: self.carried(name),
            "store": {"kind": "kubernetes", "namespace": ARGOCD,
                      "kubernetes": {"kubeconfig": str(kubeconfig), "context": "argobus"}},
        }
        if self.mapping == "destination":
            config["namespaces"] = ["team-*"]
        return config

    def configure_principal(self, **more):
        config = self.shared(self.hub, "argobus-principal", self.principal.folder, "server")
        if self.transport == "kafka":
            config["kafka"].update({"topics": "create", "replication-factor": 1, "min-insync-replicas": 1})
        config["secrets"] = {"ca": certificate("server")["ca"]}
        config["sync"] = {"max-deletions": 1000}  # scenarios delete all that there is, over and over
        config["agents"] = [{"name": name, "mode": "managed"} for name in self.agents]
        self.principal.configure(merged(config, more))

    def configure_agent(self, name, **more):
        agent = self.agents[name]
        data = agent.folder / "data"
        data.mkdir(exist_ok=True)
        config = self.shared(self.spokes[name], "argobus-agent", agent.folder, name)
        own = certificate(name)
        config["agent"] = {"name": name, "mode": "managed", "data": str(data)}
        config["secrets"] = {"certificate": own["cert"], "key": own["key"]}
        if self.mapping == "destination":
            config["store"]["kubernetes"]["create-namespaces"] = ["team-*"]
        agent.configure(merged(config, more))

    def reconfigure_agent(self, name, **more):
        self.agents[name].stop()
        self.configure_agent(name, **more)
        self.start(name)

    # Running

    def start(self, *names):
        """These, or all; nothing to do for one that runs."""
        daemons = {name: self.daemons[name] for name in names or self.daemons}
        for daemon in daemons.values():
            if daemon.process is None:
                daemon.start(ready=False)
        for name, daemon in daemons.items():
            wait_for(f"{name} is ready", daemon.is_ready)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.stop()

    def kill(self):
        for daemon in self.daemons.values():
            daemon.kill()

    @contextlib.contextmanager
    def away(self, who):
        """One of the daemons, or the broker, is not there meanwhile."""
        if who == "broker":
            kafka_dev("stop")
        else:
            self.daemons[who].stop()
        yield
        if who == "broker":
            kafka_dev("start")
        else:
            self.start(who)

    def quiet(self, agent="w1"):
        """All that was sent to the agent is in effect there."""
        wait_for(f"{agent} has nothing out of date", lambda: self.agents[agent].metric("argobus_unsettled") == 0)

    def tails(self):
        return {name: daemon.tail() for name, daemon in self.daemons.items() if daemon.log.exists()}

    # Objects

    def managed(self, cluster):
        found = [o | {"kind": kind} for kind, selector in KINDS for o in cluster.list(kind, selector=selector)]
        keys = cluster.get("ConfigMap", ARGOCD, objects.GPG_KEYS)
        return found + ([keys] if keys else [])

    def clean_up(self):
        """What the hub has goes, and everything at the spokes has to follow by itself."""
        self.start()
        for o in self.managed(self.hub):
            self.hub.remove(o)
        for spoke in self.spokes.values():
            for o in self.managed(spoke):
                if objects.SOURCE_UID not in objects.annotations(o):
                    spoke.remove(o)
        for name, spoke in self.spokes.items():
            wait_for(f"{name} is empty", lambda spoke=spoke: self.emptied(spoke))
        wait_for("the hub is empty", lambda: self.emptied(self.hub))
        for name, daemon in self.daemons.items():
            assert daemon.metric(FORBIDDEN) == 0, f"the roles lack what {name} wants"

    def emptied(self, cluster):
        """Is nothing there any more? What only waits for Argo CD goes now."""
        rest = self.managed(cluster)
        for o in rest:
            if "deletionTimestamp" in o["metadata"]:
                cluster.remove(o)
        return not rest

    def wipe(self):
        for cluster in (self.hub, *self.spokes.values()):
            for o in self.managed(cluster):
                cluster.remove(o)

    def application(self, name, agent="w1", namespace=None, source=None, **metadata):
        """Make an Application at the hub."""
        app = Application(self, name, agent, namespace or self.home(agent))
        o = objects.application(name, app.namespace, agent, **metadata)
        o["spec"]["source"].update(source or {})
        self.hub.create(o)
        return app

    def spoke_has(self, kind, name, condition=lambda o: True, agent="w1"):
        """Wait for an object of Argo CD's namespace and give it."""
        def found():
            o = self.spokes[agent].get(kind, ARGOCD, name)
            return o if o and condition(o) else None
        return wait_for(f"{kind} {name} is as wished at {agent}", found)

    def spoke_lacks(self, kind, name, agent="w1"):
        wait_for(f"{kind} {name} is gone at {agent}", lambda: self.spokes[agent].get(kind, ARGOCD, name) is None)

    def probe(self, agent="w1"):
        """Whatever the principal was told before this has reached the agent when it returns."""
        app = self.application(f"probe-{uuid.uuid4().hex[:8]}", agent)
        app.arrives()
        self.quiet(agent)
        app.delete()
        app.goes()


class Application:
    """An Application at the hub, with what became of it at its agent."""

    def __init__(self, fleet, name, agent, namespace):
        self.fleet, self.name, self.agent, self.namespace = fleet, name, agent, namespace
        self.local = namespace if fleet.mapping == "destination" else ARGOCD

    def hub(self):
        return self.fleet.hub.get("Application", self.namespace, self.name)

    def spoke(self):
        return self.fleet.spokes[self.agent].get("Application", self.local, self.name)

    def edit(self, body):
        """A merge patch at the hub."""
        self.fleet.hub.patch("Application", self.namespace, self.name, body)

    def edit_locally(self, body):
        """A merge patch at the agent's cluster."""
        self.fleet.spokes[self.agent].patch("Application", self.local, self.name, body)

    def delete(self):
        self.fleet.hub.delete("Application", self.namespace, self.name)

    def delete_locally(self):
        self.fleet.spokes[self.agent].delete("Application", self.local, self.name)

    def finish_deletion(self):
        """What Argo CD's controller does once it has deleted what the Application brought."""
        def done():
            local = self.spoke()
            if local is None:
                return True
            if "deletionTimestamp" not in local["metadata"]:
                return False
            rest = [f for f in local["metadata"].get("finalizers", []) if f != objects.CASCADE]
            with contextlib.suppress(ApiException):  # the garbage collector may have been here in between
                self.edit_locally({"metadata": {"finalizers": rest}})
                return True
            return False
        wait_for(f"{self.name} waits at {self.agent} no more", done)

    def revise(self, revision):
        self.edit({"spec": {"source": {"targetRevision": revision}}})

    def revise_locally(self, revision):
        self.edit_locally({"spec": {"source": {"targetRevision": revision}}})

    def set_status(self, status):
        """What Argo CD's controller would do."""
        self.edit_locally({"status": status})

    def arrives(self, revision="1"):
        """It is at the agent, with that revision."""
        def found():
            app = self.spoke()
            return app if app and objects.revision(app) == revision else None
        return wait_for(f"{self.name} is {revision} at {self.agent}", found)

    def goes(self):
        wait_for(f"{self.name} is gone at {self.agent}", lambda: self.spoke() is None)

    def reports(self, condition, what="its status is at the hub"):
        """The status at the hub, once it is as wished; a field that the condition looks for may be missing until then."""
        def found():
            status = (self.hub() or {}).get("status") or {}
            with contextlib.suppress(KeyError):
                return status if condition(status) else None
            return None
        return wait_for(f"{self.name}: {what}", found)
