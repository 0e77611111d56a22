#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many changes are not in effect, as /metrics of the principal tells, also for an agent that is away."""
import math
import os
import re
import shutil
import signal
import unittest

from daemons import Fleet, application, wait_for

FAMILY = "argobus_changes_pending"


class Pending(Fleet):
    def shown(self, direction):
        """(count, age); None while it is not known."""
        text = wait_for("/metrics answers", lambda: self.principal.get("/metrics"))
        found = [re.search(rf'^{name}{{agent="w1",direction="{direction}"}} (\S+)$', text, re.M).group(1)
                 for name in (FAMILY, f"{FAMILY}_age_seconds")]
        return None if "NaN" in found else (int(found[0]), float(found[1]))

    def stay_pending(self, count):
        """While all that the agent was sent is acknowledged."""
        wait_for("nothing is held back", lambda: self.agent.metric("argobus_unacknowledged") == 0)
        self.are_pending(count)
        if self.transport == "kafka":
            wait_for("the lag is 0", lambda: self.agent.metric("argobus_offset_lag") == 0)
        wait_for("its age grows", lambda: self.shown("down")[1] > 3)
        self.assertEqual(self.shown("down")[0], count)

    def are_pending(self, count, direction="down"):
        wait_for(f"{count} are pending {direction}", lambda: (self.shown(direction) or (None,))[0] == count, 60)

    def change_while_the_agent_is_away(self):
        """One Application ten times, another one deleted, a third one made."""
        for i in range(10):
            self.hub.write("w1", "guestbook", application("guestbook", str(i + 2)))
            if i == 0:
                self.are_pending(1)
        self.hub.remove("w1", "other")
        self.hub.write("w1", "third", application("third"))
        self.are_pending(3)

    def begin(self):
        for name in ("guestbook", "other"):
            self.hub.write("w1", name, application(name))
        self.start()
        self.arrives("guestbook", "1")
        self.arrives("other", "1")
        self.are_pending(0)
        self.are_pending(0, "up")
        self.agent.stop()

    def test_each_object_counts_once_while_the_agent_is_away(self):
        self.begin()
        self.change_while_the_agent_is_away()
        wait_for("the oldest is that of the first change", lambda: self.shown("down")[1] > 1)
        if os.environ.get("AB_SHOW"):
            print("\n".join(line for line in self.principal.get("/metrics").splitlines() if line.startswith(FAMILY)))
        self.agent.start()
        self.are_pending(0)
        self.assertEqual(self.shown("down"), (0, 0.0))

    def test_a_restarted_principal_shows_the_same(self):
        if self.transport == "grpc":
            self.skipTest("over gRPC nothing is known of an agent that was not there since the principal started")
        self.begin()
        self.change_while_the_agent_is_away()
        self.principal.stop()
        self.principal.start()
        self.are_pending(3)
        self.agent.start()
        self.are_pending(0)

    def test_of_an_agent_without_topics_nothing_is_known(self):
        if self.transport == "grpc":
            self.skipTest("there are no topics")
        self.begin()
        self.principal.stop()
        config = self.principal_config()
        self.principal.configure(dict(config, agents=[*config["agents"], {"name": "w2"}],
                                      kafka=dict(config["kafka"], topics="verify")))
        self.hub.write("w2", "guestbook", application("guestbook"))
        self.principal.start(ready=False)
        self.are_pending(0)
        self.assertTrue(math.isnan(self.principal.series(FAMILY)['agent="w2",direction="down"']))

    def test_over_grpc_nothing_is_known_before_the_agent_has_connected(self):
        if self.transport != "grpc":
            self.skipTest("Kafka's log tells")
        self.principal.start()
        self.assertIsNone(self.shown("down"))
        self.agent.start()
        self.are_pending(0)

    def test_what_the_agent_cannot_write_is_pending_until_it_can(self):
        """A folder stands where the object's file should be, also after a restart of the principal."""
        obstacle = self.spoke.path("argocd", "blocked")
        (obstacle / "in").mkdir(parents=True)
        self.principal.start()
        self.agent.start("--set", "sync.set-aside=1s")
        for name in ("blocked", "other"):
            self.hub.write("w1", name, application(name))
        self.arrives("other", "1")
        wait_for("it is deferred", lambda: self.agent.metric("argobus_set_aside_total") == 1)
        self.stay_pending(1)
        self.hub.write("w1", "blocked", application("blocked", "2"))
        wait_for("so is the newer one", lambda: self.agent.metric("argobus_set_aside_total") == 2)
        self.stay_pending(1)
        self.principal.stop()
        self.principal.start()
        self.stay_pending(1)
        shutil.rmtree(obstacle)
        self.hub.write("w1", "blocked", application("blocked", "3"))
        self.arrives("blocked", "3")
        self.are_pending(0)

    def test_what_the_agent_may_not_take_over_is_pending_until_it_is_gone(self):
        never = {"argocd.argoproj.io/adoption-policy": "never"}
        self.spoke.write("argocd", "theirs", application("theirs", namespace="argocd", annotations=never))
        self.hub.write("w1", "theirs", application("theirs", "2"))
        self.start()
        self.stay_pending(1)
        self.hub.remove("w1", "theirs")
        self.are_pending(0)
        self.assertIsNotNone(self.spoke.read("argocd", "theirs"))

    def test_an_agent_that_is_removed_is_not_shown(self):
        self.begin()
        self.principal.configure(dict(self.principal_config(), agents=[]))
        self.principal.process.send_signal(signal.SIGHUP)
        wait_for("it is not shown", lambda: FAMILY + "{" not in self.principal.get("/metrics"))


if __name__ == "__main__":
    unittest.main()
