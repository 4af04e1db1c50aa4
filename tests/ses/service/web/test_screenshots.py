"""The pictures of docs/page.md: their pages exist, and no picture is missing or left over."""

import re
from dataclasses import replace

import pytest

from tests.guide import PAGES
from tests.screenshots import FOLDER, PICTURES, STATES, shot
from tests.ses.service.web.test_browser import browser

__all__ = ["browser"]

pytestmark = [pytest.mark.serve, pytest.mark.browser]


@pytest.mark.slow
def test_each_page_of_a_picture_exists(browser, address):
    for name, picture in {**PICTURES, **STATES}.items():
        made = shot(browser, address, picture, "p00001")
        assert (made[:4], made[8:12]) == (b"RIFF", b"WEBP"), name
    with pytest.raises(LookupError, match="There is no page /nowhere"):
        shot(browser, address, replace(picture, path="/nowhere"), "p00001")


def test_the_pictures_are_those_of_the_documentation():
    files = {path.name for path in FOLDER.iterdir()}
    shown = re.findall(r"!\[[^]]+\]\(pictures/([^)]+)\)", (PAGES / "page.md").read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(files) == sorted(f"{name}.webp" for name in PICTURES)
    assert max(path.stat().st_size for path in FOLDER.iterdir()) < 150_000
