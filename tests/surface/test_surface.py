"""What users see changes only with an entry of CHANGELOG.md."""

import difflib

import pytest

from tests.surface.facts import FACTS, place_of, text_of

pytestmark = pytest.mark.lint

SERVICE = {"http": pytest.mark.serve, "settings": pytest.mark.serve}


@pytest.mark.parametrize("name", [pytest.param(one, marks=SERVICE.get(one, ())) for one in FACTS])
def test_the_surface_is_as_written(name, tmp_path):
    written, now = place_of(name).read_text(encoding="utf-8"), text_of(name, tmp_path)
    changed = difflib.unified_diff(written.splitlines(), now.splitlines(), "written", "now", lineterm="", n=0)
    assert written == now, "\n".join(
        ["The surface differs: run `python -m tests.surface`, and say the change in CHANGELOG.md.", *changed]
    )


def test_a_file_has_one_fact_a_line_and_all_of_them():
    """Samples of facts whose loss nobody would see in a comparison with itself."""
    samples = {
        "commands": "ses search --mode lexical|vector|hybrid",
        "files": "feeds/feed.json",
        "http": "GET /v1/search query size: integer[0..10000] = 10",
        "messages": "NotFoundError: No index {} of {} is attached | {}",
        "python": "ses.Library.index() name: str",
        "settings": "serve.port: int from 0 to 65,535 = 8765",
    }
    assert set(samples) == set(FACTS)
    lines = {name: place_of(name).read_text(encoding="utf-8").splitlines() for name in samples}
    assert {name: one for name, one in samples.items() if one not in lines[name]} == {}
