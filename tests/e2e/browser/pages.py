# SPDX-License-Identifier: Apache-2.0
"""Argo CD's web pages, as a person in front of them sees and uses them."""
import json
import re
import urllib.parse

PROMPT = "[#$] "

class Pages:
    """One tab of the browser. Its screenshots go to the folder `shots`; `errors` are exceptions in the pages."""

    def __init__(self, page, url, shots):
        self.page, self.url, self.shots, self.errors = page, url, shots, []
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def log_in(self, password):
        self.page.goto(self.url)
        self.page.locator("input").first.fill("admin")
        self.page.locator("input[type=password]").fill(password)
        self.page.locator("button[type=submit]").click()
        self.page.wait_for_url(re.compile("/applications"))

    def list(self):
        self.page.goto(f"{self.url}/applications")

    def entry(self, name):
        """Of the list of Applications."""
        return self.page.locator(".applications-tiles__item, .applications-list__entry").filter(has_text=name).first

    def tree(self, namespace, app):
        self.page.goto(f"{self.url}/applications/{namespace}/{app}")

    def node(self, kind, name):
        """Of the tree; `kind` as it is abbreviated there: cm, svc, deploy, pod."""
        has = self.page.locator(".application-resource-tree__node-kind").filter(has_text=re.compile(f"^{kind}$"))
        return self.page.locator(".application-resource-tree__node").filter(has_text=name).filter(has=has)

    def choose(self, kind, name, entry, typed=None):
        """An entry of a node's menu, and yes to the question that follows, which may ask for something to be typed."""
        self.node(kind, name).locator(".application-resource-tree__node-menu .argo-dropdown__anchor").click()
        self.page.locator(".argo-dropdown__content.opened li").filter(has_text=entry).click()
        if typed:
            self.page.locator(".popup-container input:not([type=checkbox]):not([type=radio])").first.fill(typed)
        self.page.locator('[qe-id="argo-popup-ok-button"], [qe-id="prompt-popup-ok-button"]').click()

    def panel(self, namespace, app, resource, tab):
        """Open a resource, "GROUP/KIND/NAMESPACE/NAME", at that tab."""
        node = urllib.parse.quote(f"{resource}/0", safe="")
        self.page.goto(f"{self.url}/applications/{namespace}/{app}?node={node}")
        self.page.locator(".sliding-panel--opened .tabs__nav a").filter(has_text=tab).click()

    def text(self, text):
        return self.page.get_by_text(text).first

    def manifest(self, line):
        """A line of a manifest that is in sight."""
        return self.page.locator(".view-line").filter(has_text=line).first

    def edit(self, line, old, new):
        """Put `new` for `old`, the end of a line of the manifest that is shown, and save it."""
        self.page.get_by_role("button", name="Edit", exact=False).last.click()
        self.manifest(line).click()
        self.page.keyboard.press("End")
        for _ in old:
            self.page.keyboard.press("Backspace")
        self.page.keyboard.type(new)
        self.page.get_by_role("button", name="Save", exact=False).last.click()

    def terminal(self, *where):
        """Open one, and give what it shows: xterm draws on a canvas, so this is read off its WebSocket."""
        shown = Shown(self.page)
        self.page.once("websocket", lambda socket: socket.on("framereceived", shown.take))
        self.panel(*where, "TERMINAL")
        return shown

    def type(self, text):
        self.page.locator(".xterm").first.click()
        self.page.keyboard.type(text)

    def shot(self, name):
        self.page.screenshot(path=self.shots / f"{name}.png")


class Shown:
    """What a terminal has shown since it was opened."""

    def __init__(self, page):
        self.page, self.text = page, ""

    def take(self, frame):
        self.text += json.loads(frame).get("data") or ""

    def waits_for(self, pattern):
        for _ in range(600):
            if re.search(pattern, self.text):
                return
            self.page.wait_for_timeout(50)  # the page's events are told meanwhile
        raise AssertionError(f"the terminal does not show {pattern!r}: {self.text!r}")
