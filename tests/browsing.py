"""A Chromium for tests of pages, and for the pictures of the documentation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Chromium's own sandbox needs rights that a container's root lacks; the pages are those of this project.
_SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


def chromium() -> str | None:
    """Return where a Chromium is, if there is one: Playwright's own is a download of its own."""
    return os.environ.get("SES_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Start a Chromium without a window, and end it with the block."""
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium(), args=list(_SWITCHES)) as browser,
    ):
        yield browser
