# SPDX-License-Identifier: Apache-2.0
"""A fleet that goes from Kafka to gRPC and back, with changes under way."""
import unittest

from daemons import Fleet, application, revision, wait_for


class Transports(Fleet):
    transport = "kafka"

    def change_to(self, transport):
        self.transport = transport
        self.agent.stop()
        self.principal.stop()
        self.principal.configure(self.principal_config())
        self.agent.configure(self.agent_config())

    def uid(self):
        return self.spoke.sidecar("argocd", "guestbook").get("uid")

    def test_what_was_left_in_a_topic_undoes_nothing(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.agent.stop()
        self.principal.stop()
        self.principal.start()
        self.hub.remove("w1", "guestbook")
        wait_for("its end is in the topic", lambda: self.log_of(self.topic("down"))[-1][1] is None)
        self.change_to("grpc")
        self.start()
        wait_for("it is gone", lambda: self.spoke.read("argocd", "guestbook") is None)
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        self.arrives("guestbook", "2")
        uid = wait_for("it has a uid", self.uid)
        self.change_to("kafka")
        self.agent.start()
        wait_for("the agent has read its topic", lambda: b"caught up" in self.agent.log.read_bytes().split(b"starting")[-1])
        wait_for("all is in effect", lambda: self.agent.metric("argobus_offset_lag") == 0)
        self.principal.start()
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="3"))
        self.arrives("guestbook", "3")
        self.assertEqual(self.uid(), uid)

    def test_a_change_made_before_both_have_compared_takes_effect(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "Synced"}})
        wait_for("status at the hub", lambda: self.hub.status("w1", "guestbook"))
        self.agent.stop()
        self.hub.edit("w1", "guestbook", lambda a: a["spec"]["source"].update(targetRevision="2"))
        self.spoke.set_status("argocd", "guestbook", {"sync": {"status": "OutOfSync"}})
        self.change_to("grpc")
        self.start()
        self.arrives("guestbook", "2")
        wait_for("the newer status", lambda: self.hub.status("w1", "guestbook")["sync"]["status"] == "OutOfSync")


if __name__ == "__main__":
    unittest.main()
