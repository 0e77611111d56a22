#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fleet page as programs see it: who may look, what is streamed, and that nobody who looks is in the way."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import yaml

from daemons import application
from documented import commands
from fleet_page import TOKEN, PageFleet
from waiting import wait_for


DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs/operate/fleet-page.md"
YAML = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def pending(stream, agent, way="down"):
    known = stream.agents.get(agent, {}).get("pending", {}).get(way)
    return known and known["count"]


class Page(PageFleet):
    def test_the_stream_tells_what_changes(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.principal.start()
        stream = self.stream()
        wait_for("the agent is shown", lambda: "w1" in stream.agents)
        self.assertFalse(stream.agents["w1"]["connected"])
        self.assertTrue(stream.principal["version"])
        self.agent.start()
        wait_for("it is connected", lambda: stream.agents["w1"]["connected"])
        wait_for("all is in effect", lambda: pending(stream, "w1") == 0)
        self.agent.stop()
        wait_for("it has gone", lambda: not stream.agents["w1"]["connected"])
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        wait_for("one change waits", lambda: pending(stream, "w1") == 1)
        oldest = stream.agents["w1"]["pending"]["down"]["oldest"]
        status, _, body = self.ask("/api/agents/w1")
        shown = json.loads(body)
        self.assertEqual((status, shown["agent"]["pending"]["down"]["count"]), (200, 1))
        self.assertEqual([o["name"] for o in shown["objects"]], ["guestbook"])
        self.assertTrue(shown["objects"][0]["reason"])
        self.assertEqual(shown["agent"]["pending"]["down"]["oldest"], oldest)
        self.agent.start()
        wait_for("all is in effect again", lambda: pending(stream, "w1") == 0)

    def test_what_does_not_change_is_not_sent_again(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        stream = self.stream()
        wait_for("all is in effect", lambda: pending(stream, "w1") == 0)
        self.agent.stop()
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        wait_for("one change waits", lambda: pending(stream, "w1") == 1)
        while not stream.events.empty():
            stream.events.get_nowait()
        other = self.stream()
        wait_for("somebody who came later sees it", lambda: pending(other, "w1") == 1)
        turns = self.principal.metric("process_cpu_seconds_total")
        wait_for("turns pass", lambda: self.principal.metric("process_cpu_seconds_total") > turns + 0.05)
        self.assertEqual([name for name, _ in list(stream.events.queue)], [])

    def test_agents_come_and_go_while_somebody_looks(self):
        self.principal.start()
        stream = self.stream()
        wait_for("the agent is shown", lambda: "w1" in stream.agents)
        config = self.principal_config()
        self.principal.configure(dict(config, agents=[{"name": "w2"}]))
        self.principal.process.send_signal(1)
        wait_for("the other agent is shown alone", lambda: set(stream.agents) == {"w2"})

    def test_several_who_look_see_the_same_and_go_as_they_like(self):
        self.principal.start()
        streams = [self.stream() for _ in range(20)]
        for stream in streams:
            wait_for("the agent is shown", lambda s=stream: "w1" in s.agents)
        for stream in streams[1:]:
            stream.close()
        self.agent.start()
        wait_for("who stays sees it", lambda: streams[0].agents["w1"]["connected"])

    def test_the_page_comes_with_a_policy_and_all_its_parts(self):
        self.principal.start()
        status, fields, body = self.ask("/")
        self.assertEqual((status, fields["content-type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", fields["content-security-policy"])
        self.assertNotIn("unsafe", fields["content-security-policy"])
        self.assertNotIn(b"http://", body)
        self.assertNotIn(b"https://", body)
        for part in ("page.css", "page.js", "agent.js", "api.js", "detail.js", "fleet.js", "stream.js", "table.js",
                     "extension-argobus.js"):
            self.assertEqual(self.ask("/" + part)[0], 200, part)
        self.assertEqual(self.ask("/", "HEAD")[2], b"")

    def test_what_is_wrong_is_said(self):
        self.principal.start()
        self.assertEqual(self.ask("/api/agents/nobody")[0], 404)
        self.assertEqual(self.ask("/api/agents/..%2fx")[0], 400)
        self.assertEqual(self.ask("/api/agents/Not-A-Label")[0], 404)
        self.assertEqual(self.ask("/elsewhere")[0], 404)
        self.assertEqual(self.ask("/api/agents", "POST")[0], 405)
        self.assertEqual(self.ask("/api/stream", "HEAD")[0], 405)
        status, _, body = self.ask("/api/agents", headers={"Host": "evil.example.com"})
        self.assertEqual(status, 403)
        self.assertIn(b"localhost", body)

    def test_with_tokens_only_who_may_see_all_agents_looks(self):
        self.serve_tls(tokens=self.tokens())
        self.principal.start()
        tls = self.trust()
        self.assertEqual(self.ask("/", tls=tls)[0], 200)
        self.assertEqual(self.ask("/api/agents", tls=tls)[0], 401)
        one = {"Authorization": "Bearer a-token-for-one-agent-0123"}
        self.assertEqual(self.ask("/api/agents", headers=one, tls=tls)[0], 401)
        self.assertEqual(self.ask("/api/stream", headers=one, tls=tls)[0], 401)
        everything = {"Authorization": "Bearer " + TOKEN}
        status, _, body = self.ask("/api/agents", headers=everything, tls=tls)
        self.assertEqual((status, [a["name"] for a in json.loads(body)["agents"]]), (200, ["w1"]))
        stream = self.stream(everything, tls)
        wait_for("the agent is shown", lambda: "w1" in stream.agents)
        self.assertNotIn(TOKEN, self.principal.log.read_text())

    def test_with_a_ca_who_has_a_certificate_of_it_looks(self):
        self.serve_tls(ca=self.grpc("server")["tls"]["ca"])
        self.principal.start()
        self.assertEqual(self.ask("/api/agents", tls=self.trust())[0], 401)
        self.assertEqual(self.ask("/api/agents", tls=self.trust("w1"))[0], 200)

    def test_what_the_documentation_sets_up_answers_its_command(self):
        first, second = YAML.findall(DOCS.read_text(encoding="utf-8"))
        [command] = commands("docs/operate/fleet-page.md")
        fleet = yaml.safe_load(first)["fleet"]
        self.assertEqual(fleet["listen"], ":8090")
        self.principal.configure(dict(self.principal_config(), fleet={"listen": ":0"}))
        self.principal.start()
        told = command.text.replace(":8090", f":{self.page_port()}")
        said = subprocess.run(["bash", "-euc", told], check=True, capture_output=True, timeout=60).stdout
        self.assertEqual(json.loads(said)["agent"]["name"], "w1")
        self.principal.stop()
        certs = self.grpc("server")["tls"]
        self.tokens()
        beyond = (second.replace("*:8090", "*:0").replace("/etc/argobus/fleet-tokens", f"{self.folder}/tokens")
                  .replace("/etc/argobus/tls/fleet.crt", certs["cert"]).replace("/etc/argobus/tls/fleet.key", certs["key"]))
        self.principal.configure(dict(self.principal_config(), **yaml.safe_load(beyond)))
        self.principal.start()
        self.assertEqual(self.ask("/api/agents", headers={"Authorization": "Bearer " + TOKEN}, tls=self.trust())[0], 200)

    def ctl_at(self, url, *args, token=TOKEN, ca=None):
        """argobusctl as on another machine. (exit code, output, errors)"""
        pathlib.Path(self.folder, "token").write_text(token + "\n")
        done = subprocess.run([pathlib.Path(os.environ["AB_BIN"], "argobusctl"), "--server", url, "--token-file",
                               f"{self.folder}/token", *(("--server-ca", ca) if ca else ()), *args],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_argobusctl_on_another_machine_shows_what_it_shows_here(self):
        self.serve_tls(tokens=self.tokens(), control={"socket": f"{self.folder}/ctl.sock"})
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        url, ca = f"https://localhost:{self.page_port()}/", self.grpc("w1")["tls"]["ca"]
        for command in (("agent", "list"), ("agent", "inspect", "w1"), ("pending", "w1"), ("lag",), ("deletions",)):
            code, shown, said = self.ctl_at(url, *command, "-o", "json", ca=ca)
            self.assertEqual(code, 0, said)
            here = self.ctl(*command, "-o", "json")
            self.assertEqual([*json.loads(shown)], [*json.loads(here.stdout)])
        code, shown, _ = self.ctl_at(url, "agent", "list", ca=ca)
        self.assertRegex(shown, r"(?m)^w1 +managed +yes")

    def test_argobusctl_says_why_a_server_does_not_answer_it(self):
        self.serve_tls(tokens=self.tokens())
        self.principal.start()
        port, ca = self.page_port(), self.grpc("w1")["tls"]["ca"]
        url = f"https://localhost:{port}"
        for code, reason, given, options in (
                (1, "show a token of fleet.tokens", (url, "lag"), {"token": "wrong-token-0123456789", "ca": ca}),
                (1, "show a token of fleet.tokens", (url, "lag"), {"token": "a-token-for-one-agent-0123", "ca": ca}),
                (2, "the file has no token", (url, "lag"), {"token": "", "ca": ca}),
                (3, "certificate", (url, "lag"), {}),
                (3, "localhost", ("https://localhost:1", "lag"), {"ca": ca}),
                (4, "no such agent", (url, "pending", "w9"), {"ca": ca}),
                (4, "DNS label", (url, "pending", "../x"), {"ca": ca}),
                (2, "needs the control socket", (url, "resync"), {"ca": ca}),
                (2, "use https://", (f"http://localhost:{port}", "lag"), {}),
                (2, "does not begin with https://", ("localhost", "lag"), {}),
                (1, "the page is at /", (f"{url}/elsewhere?", "lag"), {"ca": ca}),
                (1, "cannot read", (f"{url}/?", "lag"), {"ca": ca})):
            with self.subTest(reason, given=given):
                ended, _, said = self.ctl_at(*given, **options)
                self.assertEqual((ended, said.count("\n")), (code, 1), said)
                self.assertIn(reason, said)
                self.assertNotIn(TOKEN, said)

    def test_more_than_there_is_room_for_wait_and_the_principal_works_on(self):
        self.principal.start()
        streams = [self.connect() for _ in range(300)]
        for connection in streams:
            self.addCleanup(connection.close)
            connection.connect()
            connection.sock.sendall(b"GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.agent.start()
        self.arrives("guestbook", "1")
        self.assertIsNotNone(self.principal.get("/metrics"))


if __name__ == "__main__":
    unittest.main()
