#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is lost comes again, what is gone goes, and nothing goes that is not proved to be gone."""
import json
import shutil
import socket
import time
import unittest

from daemons import Fleet, Objects, application, kafka_dev, kcat, only_kafka, read_yaml, wait_for

MANY = 30
TOLD_SECONDS = 10


class Resync(Fleet):
    def setUp(self):
        super().setUp()
        for i in range(MANY):
            self.hub.write("w1", f"n{i}", application(f"n{i}"))
        self.start()
        wait_for("all have arrived", lambda: len(self.spoke.names("argocd")) == MANY)
        wait_for("both ends have compared", lambda: self.resyncs() > 0)

    def delete_topics(self):
        kafka_dev("tool", "topics", "--delete", "--topic", f"{self.prefix}[.](down|up)[.]w1[.]state")

    def forget_records(self, topic):
        """All that is in it now is past its retention."""
        offsets = self.folder / "offsets.json"
        offsets.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": -1}]}))
        config = ["tool", "configs", "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config"]
        kafka_dev(*config, "cleanup.policy=delete")
        kafka_dev("tool", "delete-records", "--offset-json-file", str(offsets))
        kafka_dev(*config, "cleanup.policy=compact")

    def let_expire(self, topic, group):
        """What the broker does within days: what is superseded, every tombstone and the reader's position go."""
        settings = "segment.ms=100,delete.retention.ms=0,min.cleanable.dirty.ratio=0"
        kafka_dev("tool", "configs", "--alter", "--entity-type", "topics", "--entity-name", topic,
                  "--add-config", settings)
        kafka_dev("tool", "consumer-groups", "--delete", "--group", group)
        wait_for("only the newest of each is left", lambda: self.is_compact(topic), 120)

    def is_compact(self, topic):
        """A broker closes a segment, which it may then compact, only for a record that it appends; nothing else writes one."""
        kcat("-P", "-t", topic, "-k", "ctl/filler", input="passed over")
        log = self.log_of(topic)
        return len(log) == len(dict(log)) and None not in dict(log).values()

    def resyncs(self):
        """How many were brought to their end."""
        return self.principal.metric("argobus_resyncs_total")

    @only_kafka("only a log is replayed")
    def test_a_first_reading_that_was_interrupted_begins_again(self):
        unfinished = self.folder / "agent" / "data" / "replaying"
        wait_for("the first reading is over", lambda: not unfinished.exists())
        self.agent.kill()
        unfinished.write_text("")
        self.hub.remove("w1", "n0")
        self.agent.start()
        wait_for("so is this one", lambda: not unfinished.exists())
        self.assertEqual(self.agent.metric("argobus_replays_total"), 1)
        wait_for("the deletion is in effect", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)

    @only_kafka("there are no topics")
    def test_topics_deleted_under_a_running_pair(self):
        self.delete_topics()
        self.hub.remove("w1", "n0")
        self.hub.write("w1", "new", application("new"))
        wait_for("the new one arrives", lambda: self.spoke.read("argocd", "new"))
        wait_for("the deleted one goes", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY)

    @only_kafka("there are no topics")
    def test_topics_deleted_while_the_agent_was_away(self):
        self.agent.stop()
        self.hub.remove("w1", "n0")
        wait_for("it is ended", lambda: self.principal.metric("argobus_events_sent_total") > MANY)
        self.delete_topics()
        self.agent.start(ready=False)
        wait_for("the deleted one goes", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)

    def test_the_agent_forgot_everything_and_the_log_does_too(self):
        self.agent.stop()
        self.hub.remove("w1", "n0")
        if self.transport == "kafka":  # else there is none
            self.delete_topics()
        shutil.rmtree(self.folder / "agent" / "data")
        (self.folder / "agent" / "data").mkdir()
        self.agent.start(ready=False)
        wait_for("the deleted one goes", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)

    @only_kafka("there are no positions in a log")
    def test_the_agent_comes_back_after_its_position_has_expired(self):
        self.agent.stop()
        sent = self.principal.metric("argobus_events_sent_total")
        self.hub.remove("w1", "n0")
        for i in range(1, MANY):
            self.hub.write("w1", f"n{i}", application(f"n{i}", "2" if i < 10 else "1"))
        wait_for("all is sent", lambda: self.principal.metric("argobus_events_sent_total") >= sent + 10)
        self.forget_records(self.topic("down"))
        self.agent.start(ready=False)
        wait_for("it is where the log begins", lambda: "reason=expired" in self.agent.log.read_text())
        wait_for("the deleted one goes", lambda: self.spoke.read("argocd", "n0") is None)
        for i in range(1, 10):
            self.arrives(f"n{i}", "2")
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)
        self.assertEqual(self.agent.metric("argobus_store_writes_total"), 10)

    @only_kafka("nothing expires")
    def test_the_agent_comes_back_after_tombstones_and_its_position_have_expired(self):
        self.agent.stop()
        sent = self.principal.metric("argobus_events_sent_total")
        self.hub.remove("w1", "n0")
        for change in range(1, 4):
            for i in range(1, 10):
                self.hub.write("w1", f"n{i}", application(f"n{i}", f"{change + 1}"))
            wait_for("all is sent",
                     lambda c=change: self.principal.metric("argobus_events_sent_total") >= sent + 1 + 9 * c)
        self.let_expire(self.topic("down"), f"{self.prefix}.agent.w1")
        self.assertNotIn("Application/w1/n0", dict(self.log_of(self.topic("down"))))
        self.agent.start(ready=False)
        for i in range(1, 10):
            self.arrives(f"n{i}", "4")
        wait_for("the deleted one goes", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)
        self.assertEqual(self.agent.metric("argobus_store_writes_total"), 10)

    @only_kafka("there are no positions in a log")
    def test_the_principal_comes_back_after_its_position_has_expired(self):
        self.spoke.set_status("argocd", "n1", {"sync": {"status": "Synced"}})
        wait_for("it is at the hub", lambda: self.hub.status("w1", "n1"))
        self.principal.stop()
        self.spoke.set_status("argocd", "n1", {"sync": {"status": "OutOfSync"}})
        self.spoke.set_status("argocd", "n2", {"sync": {"status": "Synced"}})
        wait_for("it is sent", lambda: self.agent.metric("argobus_events_sent_total") >= 3)
        self.forget_records(self.topic("up"))
        self.principal.start(ready=False)
        wait_for("the newest status is at the hub",
                 lambda: self.hub.status("w1", "n1") == {"sync": {"status": "OutOfSync"}})
        wait_for("the other is", lambda: self.hub.status("w1", "n2") == {"sync": {"status": "Synced"}})

    def test_a_restored_backup_of_the_agent(self):
        self.agent.stop()
        backup = self.folder / "backup"
        shutil.copytree(self.folder / "agent" / "data", backup / "data")
        shutil.copytree(self.folder / "w1", backup / "w1")
        self.agent.start()
        self.hub.write("w1", "n1", application("n1", "2"))
        self.hub.remove("w1", "n0")
        self.arrives("n1", "2")
        wait_for("it is gone", lambda: self.spoke.read("argocd", "n0") is None)
        self.agent.stop()
        shutil.rmtree(self.folder / "agent" / "data")
        shutil.rmtree(self.folder / "w1")
        shutil.copytree(backup / "data", self.folder / "agent" / "data")
        shutil.copytree(backup / "w1", self.folder / "w1")
        self.agent.start()
        self.arrives("n1", "2")
        wait_for("it is gone again", lambda: self.spoke.read("argocd", "n0") is None)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 1)

    def test_an_empty_hub_deletes_nothing_until_the_operator_confirms(self):
        self.principal.stop()
        shutil.rmtree(self.folder / "hub" / "w1")
        self.principal.start()
        wait_for("the guard holds", lambda: self.principal.metric("argobus_deletions_held") == MANY)
        self.agent.stop()
        self.agent.start()
        self.assertEqual(len(self.spoke.names("argocd")), MANY)
        self.assertEqual(self.ctl("resync", "--agent", "w2", "--confirm", self.token()).returncode, 4)
        self.is_not_confirmed()
        before = self.resyncs()
        asked = self.ctl("resync", "--agent", "w1")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        wait_for("a resync", lambda: self.resyncs() > before)
        self.assertEqual(len(self.spoke.names("argocd")), MANY)
        self.assertEqual(self.ctl("resync", "--agent", "w1", "--confirm", self.token()).returncode, 0)
        wait_for("they are deleted", lambda: not self.spoke.names("argocd"))
        wait_for("nothing is held", lambda: self.principal.metric("argobus_deletions_held") == 0)

    def held(self):
        return self.principal.metric("argobus_deletions_held")

    def token(self):
        return self.principal.get("/readyz").split()[-1]

    def is_not_confirmed(self):
        """Without the token of what is held back, whoever asks, the answer tells how to look and what to type."""
        command = f"argobusctl resync --agent w1 --confirm {self.token()}"
        self.assertEqual(self.ctl("resync", "--agent", "w1", "--confirm").returncode, 2)
        other = self.ctl("resync", "--agent", "w1", "--confirm", "deadbeef")
        self.assertEqual(other.returncode, 1, other.stdout)
        self.assertIn(f"held back now: {MANY}", other.stderr)
        self.assertIn(command, other.stderr)
        former = self.say(b'{"do":"resync","agent":"w1","confirm":true}\n')
        self.assertIn(b"no token says which deletions", former)
        self.assertNotIn("the operator confirmed deletions", self.principal.log.read_text())

    def test_a_restored_backup_of_the_hub_deletes_nothing_that_it_never_had(self):
        self.principal.stop()
        backup = self.folder / "backup"
        shutil.copytree(self.folder / "hub", backup)
        self.principal.start()
        self.hub.write("w1", "new", application("new"))
        self.arrives("new", "1")
        self.principal.stop()
        shutil.rmtree(self.folder / "hub")
        shutil.copytree(backup, self.folder / "hub")
        self.hub.remove("w1", "n0")
        self.principal.start()
        wait_for("what it never had is held", lambda: self.held() == 1)
        wait_for("it says why", lambda: "deletions held back: the store does not show" in self.principal.log.read_text())
        wait_for("what it had and has no more goes", lambda: self.spoke.read("argocd", "n0") is None)
        self.hub.remove("w1", "n1")
        wait_for("other deletions go on", lambda: self.spoke.read("argocd", "n1") is None)
        self.principal.stop()
        if self.transport == "kafka":
            self.delete_topics()
        self.principal.start(ready=False)
        wait_for("it is held when no log has it", lambda: self.held() == 1)
        self.assertIsNotNone(self.spoke.read("argocd", "new"))
        self.assertEqual(self.ctl("resync", "--agent", "w1", "--confirm", self.token()).returncode, 0)
        wait_for("it goes when that is confirmed", lambda: self.spoke.read("argocd", "new") is None)
        wait_for("nothing is held", lambda: self.held() == 0)
        wait_for("nothing else is there", lambda: len(self.spoke.names("argocd")) == MANY - 2)

    def test_a_restored_backup_without_half_of_the_objects_is_told_within_ten_seconds(self):
        self.principal.stop()
        backup = self.folder / "backup"
        shutil.copytree(self.folder / "hub", backup)
        self.principal.start()
        for i in range(MANY):
            self.hub.write("w1", f"new{i}", application(f"new{i}"))
        wait_for("all have arrived", lambda: len(self.spoke.names("argocd")) == 2 * MANY)
        self.principal.stop()
        shutil.rmtree(self.folder / "hub")
        shutil.copytree(backup, self.folder / "hub")
        deadline = time.monotonic() + TOLD_SECONDS

        def told(what, condition):
            wait_for(what, condition, deadline - time.monotonic())

        self.principal.start(ready=False)
        line = f"agent w1: {MANY} deletions are held back"
        told("a metric tells", lambda: self.held() == MANY)
        told("/readyz tells", lambda: line in (self.principal.get("/readyz") or ""))
        self.assertIn("deletions held back: the store does not show", self.principal.log.read_text())
        self.assertEqual(len(self.spoke.names("argocd")), 2 * MANY)

    def test_the_watermark_of_many_agents_that_a_former_version_wrote_is_divided_and_holds_nothing(self):
        here = Objects(self.hub)
        wait_for("the watermark follows", lambda: " " not in self.mark_of_w1(here))
        self.principal.stop()
        mark = here.read("ConfigMap", "argobus-store-mark")
        mark["data"].update({f"x{i}": f"7.{i + 1}" for i in range(1200)})
        here.write(mark)
        self.hub.remove("w1", "n0")
        self.principal.start()
        wait_for("what was deleted meanwhile goes", lambda: self.spoke.read("argocd", "n0") is None)
        wait_for("it is divided", lambda: [len(p) for p in self.parts(here)] == [500, 500, 201])
        self.assertEqual(sum("w1" in part for part in self.parts(here)), 1)
        self.principal.stop()
        self.hub.remove("w1", "n1")
        self.principal.start()
        wait_for("so it does after a restart", lambda: self.spoke.read("argocd", "n1") is None)
        self.assertEqual(self.held(), 0)
        self.assertEqual(len(self.spoke.names("argocd")), MANY - 2)

    @staticmethod
    def mark_of_w1(here):
        return ((here.read("ConfigMap", "argobus-store-mark") or {}).get("data") or {}).get("w1", " ")

    @staticmethod
    def parts(here):
        """The agents of each."""
        found = [here.read("ConfigMap", f"argobus-store-mark{part}") for part in ("", "-1", "-2")]
        return [set((part or {}).get("data", {})) - {"write_id", "configmap_uid"} for part in found]

    def test_a_principal_whose_store_is_another_one_ends_and_deletes_nothing(self):
        mark = self.folder / "hub" / "argocd" / "ConfigMap" / "argobus-store-mark.yaml"
        wait_for("the mark follows", lambda: "w1" in (read_yaml(mark) or {}).get("data", {}))
        lost = f"\nargobus_store_objects {self.principal.metric('argobus_store_objects') - 1:g}\n"

        def is_lost():
            mark.unlink(missing_ok=True)  # again, where the principal was just writing it
            return self.principal.process.poll() is not None or lost in (self.principal.get("/metrics") or "")

        wait_for("the store has lost its mark", is_lost)
        self.hub.remove("w1", "n0")
        self.assertEqual(self.principal.process.wait(120), 1)
        self.principal.process = None
        self.assertIn("the store was restored from a backup", self.principal.log.read_text())
        self.principal.start()
        wait_for("it is held", lambda: self.held() == 1)
        self.assertEqual(len(self.spoke.names("argocd")), MANY)

    def test_the_control_socket_is_nobody_elses(self):
        self.assertEqual((self.folder / "ctl.sock").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.ctl("what").returncode, 2)

    def say(self, request):
        """What the control socket answers, b"" when it hangs up."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(str(self.folder / "ctl.sock"))
            try:
                s.sendall(request)
                s.shutdown(socket.SHUT_WR)
                return s.recv(4096)
            except (BrokenPipeError, ConnectionResetError):
                return b""

    def test_bad_requests_to_the_control_socket_are_refused_and_do_nothing(self):
        bad = [b"\n", b"\x00\xff\n", b"{}\n", b"[]\n", b'{"do":"resync"', b'{"do":"what"}\n', b'{"do":7}\n',
               b'{"do":"resync","confirm":true}\n', b'{"do":"resync","agent":7,"confirm":true}\n',
               b'{"do":"resync","agent":["w1"]}\n', b'{"do":"resync","agent":""}\n',
               b'{"do":"resync","agent":"' + b"w" * 64 + b'"}\n', b"x" * 5000]
        for request in bad:
            answer = self.say(request)
            self.assertTrue(answer == b"" or b'"error"' in answer, (request, answer))
        open_ones = [socket.socket(socket.AF_UNIX) for _ in range(50)]
        for s in open_ones:
            self.addCleanup(s.close)
            s.connect(str(self.folder / "ctl.sock"))
            s.sendall(b'{"do":')
        self.assertNotIn("the operator", self.principal.log.read_text())
        before = self.resyncs()
        self.assertEqual(self.ctl("resync", "--agent", "w1").returncode, 0)
        self.assertIn("the operator asked for a resync", self.principal.log.read_text())
        wait_for("a good one is heard beside them", lambda: self.resyncs() > before)

    def principal_config(self):
        return dict(super().principal_config(), control={"socket": str(self.folder / "ctl.sock")})


if __name__ == "__main__":
    unittest.main(verbosity=2)
