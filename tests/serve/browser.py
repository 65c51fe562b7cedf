"""A headless Chromium without background traffic, and pages in it."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECONDS = 15
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def chromium():
    """Yield a browser with a new profile; skip the test if it is not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Looking:
    """An open page, with its errors and its requests to other hosts."""

    def __init__(self, browser, url, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * SECONDS)
        self.errors, self.foreign = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda request: self._check(request.url, url))
        self.page.goto(url)

    def _note(self, message):
        # Chromium reports every response of 4xx as an error, but these are expected.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _check(self, requested, url):
        if not requested.startswith((url, "data:")):
            self.foreign.append(requested)

    def text(self, selector):
        return self.page.text_content(selector).strip()

    def bars(self):
        """Return the shown labels and their shown probabilities."""
        rows = self.page.locator("#bars li")
        return {
            row.locator(".name").text_content(): row.locator(".p").text_content()
            for row in rows.all()
        }

    def until(self, condition):
        """Wait until a JavaScript condition holds.

        The waiting functions of Playwright evaluate strings, which the policy of the page forbids.
        """
        deadline = time.monotonic() + SECONDS
        while not self.page.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"timeout: {condition}"
            self.page.wait_for_timeout(30)
