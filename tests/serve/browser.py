"""A careful headless Chromium, and a server of models to look at in it."""

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
    """Yield a browser with a profile of its own; skip the test where there is none."""
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
    """A page that was opened, and what went wrong in it."""

    def __init__(self, browser, url, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * SECONDS)
        self.errors, self.foreign = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._note)
        self.page.on("request", lambda asked: self._look_at(asked.url, url))
        self.page.goto(url)

    def _note(self, message):
        # Chromium reports every answer of 4xx as an error; those are answers.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _look_at(self, asked, url):
        if not asked.startswith((url, "data:")):
            self.foreign.append(asked)

    def text(self, selector):
        return self.page.text_content(selector).strip()

    def bars(self):
        """Return the labels of the answer and their probabilities as they are shown."""
        rows = self.page.locator("#bars li")
        return {
            row.locator(".name").text_content(): row.locator(".p").text_content()
            for row in rows.all()
        }

    def until(self, condition):
        """Wait until a JavaScript condition holds.

        Playwright's own waiting evaluates strings in the page, which its policy forbids.
        """
        deadline = time.monotonic() + SECONDS
        while not self.page.evaluate(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"it did not come true: {condition}"
            self.page.wait_for_timeout(30)
