"""The pictures of docs/page.md: the web page over 2,000 real papers, with the default model, in Chromium.

`python -m tests.screenshots` indexes the papers and writes the pictures into docs/pictures. No abstract is shown in
them: lists are compact, and the chosen paper has none. `python -m tests.screenshots FOLDER` writes them and those of
further states of the page into a folder, to be looked at. `tests/ses/service/web/test_screenshots.py` checks that the
pages are still there.
"""

from __future__ import annotations

import argparse
import tempfile
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

import ses
from tests.browsing import started_browser
from tests.guide import PAGES
from tests.isolation import isolate
from tests.serving import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = PAGES / "pictures"
PAPER = "32588182"
"""A letter without an abstract."""

"""Chromium's own sandbox needs rights that a container's root lacks; the pages are those of this service."""

_PAPERS = 2_000
_QUALITY = 75
_SEARCH = "/?query=risk+factors+for+severe+COVID-19&view=compact"


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Attributes:
        path: Address of the page below the service's; `{paper}` stands for the id of a paper.
        width: Of the window (CSS pixels).
        height: Of the window (CSS pixels).
        scheme: The theme that the reader's system asks for.
    """

    path: str
    width: int = 1200
    height: int = 800
    scheme: Literal["light", "dark"] = "light"


PICTURES = {
    "home": Picture("/", height=900),
    "search": Picture(f"{_SEARCH}&size=20"),
    "filtered": Picture(f"{_SEARCH}&year_from=2020&only=types:Review", scheme="dark"),
    "paper": Picture("/papers/{paper}"),
    "map": Picture("/map?query=coronavirus&size=200"),
    "phone": Picture(_SEARCH, width=390, height=780),
}
"""The pictures by name."""

STATES = {
    "home-dark": Picture("/?lang=de", height=900, scheme="dark"),
    "home-phone": Picture("/?lang=zh", width=390, height=844),
    "abstracts": Picture("/?query=risk+factors+for+severe+COVID-19"),
    "pasted": Picture("/?query=(masks%5Btiab%5D+OR+lung*%5Btiab%5D)+NOT+Letter%5Bpt%5D"),
    "nothing": Picture("/?query=xyzzyq"),
    "cited": Picture("/cite?id={paper}"),
}
"""States of the page to look at, beside the pictures."""


def shot(browser: Browser, address: str, picture: Picture, paper: str) -> bytes:
    """Return a picture of a page, as WebP.

    Args:
        browser: Chromium.
        address: Address of the service.
        picture: What to show.
        paper: Id of a paper of the index.

    Returns:
        The bytes of the file.

    Raises:
        LookupError: If there is no such page.
    """
    from tenacity import Retrying, retry_if_exception_message, stop_after_attempt, wait_fixed

    window = {"width": picture.width, "height": picture.height}
    context = browser.new_context(viewport=window, color_scheme=picture.scheme, reduced_motion="reduce", locale="en")
    try:
        page = context.new_page()
        reply = page.goto(address + picture.path.format(paper=quote(paper)), wait_until="networkidle")
        if reply is None or not reply.ok:
            raise LookupError(f"There is no page {picture.path}")
        # Playwright itself writes PNG and JPEG only, which are three times as large.
        asked = {"format": "webp", "quality": _QUALITY}
        # On a busy machine Chromium can be asked before it has drawn anything, and says that it is unable.
        drawn = Retrying(
            retry=retry_if_exception_message(match="Unable to capture"),
            stop=stop_after_attempt(20),
            wait=wait_fixed(0.5),
        )
        return b64decode(drawn(context.new_cdp_session(page).send, "Page.captureScreenshot", asked)["data"])
    finally:
        context.close()


def main(folder_of_all: str | None) -> None:
    """Write the pictures; those of all states if a folder is named."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        isolate(folder)
        library = ses.open(
            folder / "indexes", data_dir=folder / "data", cache_dir=folder / "cache", index="pubmed-sample"
        )
        library.index("pubmed-sample", limit=_PAPERS)
        written, pictures = (Path(folder_of_all), {**PICTURES, **STATES}) if folder_of_all else (FOLDER, PICTURES)
        written.mkdir(exist_ok=True)
        with served(library) as address, started_browser() as browser:
            for one, picture in pictures.items():
                (written / f"{one}.webp").write_bytes(shot(browser, address, picture, PAPER))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="for pictures of all states; else docs has them")
    main(parser.parse_args().folder)
