#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fleet page in Chromium, as a person uses it, by mouse and by keyboard; pictures are kept in AB_SCREENSHOTS."""
import os
import pathlib
import unittest

from daemons import application
from fleet_page import TOKEN, PageFleet
from playwright.sync_api import expect, sync_playwright

# As root it needs the first, where /dev/shm is small the second.
CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
MANY = 3000


class Browser(PageFleet):
    def setUp(self):
        super().setUp()
        playwright = sync_playwright().start()
        self.addCleanup(playwright.stop)
        self.browser = playwright.chromium.launch(**CHROMIUM)
        self.addCleanup(self.browser.close)
        self.errors = []

    def tearDown(self):
        self.assertEqual(self.errors, [])

    def open(self, scheme="http", **options):
        page = self.browser.new_page(viewport={"width": 1500, "height": 850}, ignore_https_errors=scheme == "https",
                                     **options)
        page.set_default_timeout(30000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: line.type == "error" and
                not line.text.startswith("Failed to load resource") and self.errors.append(line.text))
        page.goto(f"{scheme}://localhost:{self.page_port()}/")
        return page

    def shot(self, page, name):
        page.screenshot(path=pathlib.Path(os.environ["AB_SCREENSHOTS"], f"{name}.png"))

    def row(self, page, name):
        return page.locator(f"#agent-{name}")

    def test_a_change_that_waits_is_seen_with_its_reason_until_it_is_in_effect(self):
        self.hub.write("w1", "guestbook", application("guestbook"))
        self.start()
        self.arrives("guestbook", "1")
        page = self.open()
        expect(self.row(page, "w1")).to_contain_text("connected")
        self.agent.stop()
        expect(self.row(page, "w1")).to_contain_text("disconnected")
        self.hub.write("w1", "guestbook", application("guestbook", "2"))
        expect(self.row(page, "w1")).to_contain_text("1, oldest")
        self.row(page, "w1").click()
        expect(page.locator("#pending")).to_contain_text("guestbook")
        self.shot(page, "pending")
        self.agent.start()
        expect(page.locator("#pending")).to_contain_text("None.")
        expect(self.row(page, "w1")).not_to_contain_text("oldest")
        self.principal.stop()
        expect(page.locator("#connection")).to_contain_text("connection lost")
        self.shot(page, "lost")

    def test_thousands_are_found_by_keyboard_and_filters_in_light_and_dark(self):
        agents = [{"name": f"w{i}", "mode": "autonomous" if i % 3 == 0 else "managed"} for i in range(1, MANY + 1)]
        data = pathlib.Path(self.folder, "data")
        data.mkdir()
        self.principal.configure(dict(self.principal_config(), agents=agents, principal={"data": str(data)}))
        self.start()
        page = self.open(color_scheme="dark")
        expect(page.locator("#count")).to_have_text(f"{MANY} of {MANY} agents")
        self.assertLess(page.locator("#rows > div").count(), 60)
        page.keyboard.press("/")
        page.keyboard.type("w2999")
        expect(page.locator("#count")).to_have_text(f"1 of {MANY} agents")
        page.keyboard.press("Enter")
        expect(self.row(page, "w2999")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Enter")
        expect(page.locator("#detail-name")).to_have_text("w2999")
        self.shot(page, "dark")
        page.keyboard.press("Escape")
        expect(page.locator("#detail")).to_be_hidden()
        page.locator("#search").fill("")
        page.locator("#mode").select_option("autonomous")
        expect(page.locator("#count")).to_have_text(f"{MANY // 3} of {MANY} agents")
        page.get_by_role("button", name="disconnected").click()
        page.locator("#agents").focus()
        page.keyboard.press("End")
        expect(self.row(page, "w999")).to_have_attribute("aria-selected", "true")
        page.emulate_media(color_scheme="light")
        self.shot(page, "light")

    def test_it_asks_for_a_token(self):
        self.serve_tls(tokens=self.tokens())
        self.principal.start()
        page = self.open("https")
        page.locator("#token").fill("wrong-token-0123456789")
        page.keyboard.press("Enter")
        expect(page.locator("#token")).to_have_value("")
        expect(page.locator("#login")).to_be_visible()
        page.locator("#token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(self.row(page, "w1")).to_contain_text("disconnected")
        self.shot(page, "token")

    def test_a_screen_reader_finds_names_and_roles(self):
        self.principal.start()
        page = self.open()
        grid = page.get_by_role("grid", name="Agents")
        expect(grid).to_have_attribute("aria-rowcount", "2")
        expect(grid.get_by_role("columnheader", name="Not in effect")).to_be_visible()
        expect(page.get_by_role("searchbox", name="Name")).to_be_visible()
        grid.get_by_role("columnheader", name="Agent").get_by_role("button").click()
        expect(grid.get_by_role("columnheader", name="Agent")).to_have_attribute("aria-sort", "descending")


if __name__ == "__main__":
    unittest.main()
