# SPDX-License-Identifier: Apache-2.0
"""A browser for the scenarios of this folder. AB_SCREENSHOTS is where its pictures go; the program of Argo CD has its pages
inside. The rest is as for all end-to-end scenarios."""
import os
import pathlib

import pytest
from argocd import PASSWORD, port
from pages import Pages
from playwright.sync_api import sync_playwright

# As root it needs the first, where /dev/shm is small the second.
CHROMIUM = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
SIZE = {"width": 1600, "height": 900}
WAIT_MS = 60000


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(**CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture
def pages(request, browser, argocd):
    """The pages of the hub's Argo CD, logged in; a picture is kept of the end of each scenario."""
    page = browser.new_page(viewport=SIZE)
    page.set_default_timeout(WAIT_MS)
    shots = pathlib.Path(os.environ["AB_SCREENSHOTS"])
    pages = Pages(page, f"http://127.0.0.1:{port('hub', 'server')}", shots)
    pages.log_in(PASSWORD)
    yield pages
    pages.shot(request.node.name)
    page.close()
    assert pages.errors == []
