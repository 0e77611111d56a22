# SPDX-License-Identifier: Apache-2.0
"""The broker of the test run, reached as an administrator of a stock Kafka would: through kafka-*.sh."""
import os
import re
import subprocess

from daemons import broker_ports

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KAFKA_DEV = os.environ["KAFKA_DEV"]
HOME = os.environ["KAFKA_DEV_HOME"]
TOOLS = ("topics", "acls", "configs", "consumer-groups", "get-offsets")


def environment(**more):
    """A shell's environment with kafka-*.sh on the PATH, for this broker."""
    bin_folder = os.path.join(HOME, "bin")
    os.makedirs(bin_folder, exist_ok=True)
    for tool in TOOLS:
        path = os.path.join(bin_folder, f"kafka-{tool}.sh")
        mine = f"{path}.{os.getpid()}"  # other tests run it at this moment
        with open(mine, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec "{KAFKA_DEV}" tool {tool} "$@"\n')
        os.chmod(mine, 0o755)
        os.replace(mine, path)
    return {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}",
            "BOOTSTRAP": f"127.0.0.1:{broker_ports()['plain']}", "REPLICAS": "1", "MIN_ISR": "1", **more}


def run(*command, env, text=None):
    """The finished command, with its output."""
    return subprocess.run(command, env=env, cwd=ROOT, input=text, capture_output=True, text=True, timeout=300)


def topics(prefix):
    """Configs of the topics that begin with `prefix` and a dot."""
    # Of these only: those of other tests may go while they are described.
    out = run("kafka-topics.sh", "--describe", "--if-exists", "--topic", f"{re.escape(prefix)}[.].*", env=environment()).stdout
    found = re.findall(r"^Topic: (\S+)\s.*PartitionCount: (\d+).*Configs: (\S+)", out, re.MULTILINE)
    return {name: {"partitions": partitions, **dict(c.split("=", 1) for c in configs.split(","))}
            for name, partitions, configs in found if name.startswith(prefix + ".")}


def acls(user, prefix):
    """(resource, name, pattern, operation) of every ACL of `user` under `prefix` and a dot."""
    out = run("kafka-acls.sh", "--list", "--principal", f"User:{user}", env=environment()).stdout
    found = set()
    for block in out.split("Current ACLs for resource ")[1:]:
        kind, name, pattern = re.search(r"resourceType=(\w+), name=([^,]+), patternType=(\w+)", block).groups()
        if not name.startswith(prefix + "."):
            continue
        for operation in re.findall(r"operation=(\w+), permissionType=ALLOW", block):
            found.add((kind.lower(), name, pattern.lower(), operation.lower().replace("_", "")))
    return found


def kcat(user, *arguments, text=None):
    """kcat over TLS with the client certificate of `user`."""
    subprocess.run([KAFKA_DEV, "cert", user], check=True, capture_output=True)
    tls = os.path.join(HOME, "tls")
    settings = [f"ssl.ca.location={tls}/ca.crt", f"ssl.certificate.location={tls}/{user}.crt",
                f"ssl.key.location={tls}/{user}.key", "security.protocol=ssl", "message.timeout.ms=60000"]
    options = [part for setting in settings for part in ("-X", setting)]
    return run("kcat", "-m", "60", "-b", f"127.0.0.1:{broker_ports()['tls']}", *options, *arguments, env=os.environ, text=text)
