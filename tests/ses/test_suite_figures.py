"""The tables of docs/results.md, and the row of the README: stored results, or of a commit that is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from encoders.registry import find_model

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))
OLDER = "†"


def figure(entry, system):
    """The stored figure of an entry and a system."""
    (found,) = [one for one in STORED if (one["entry"], one["system"]) == (entry, system)]
    return found


def cell(one):
    """A stored figure as the table prints it."""
    return f"{one['mean']:.3f} \\[{one['low']:.3f}, {one['high']:.3f}\\]"


def sections():
    """The sections of the page by their heading."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    parts = re.split(r"^#+ (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows():
    """The rows of the table of the suite: the entry, and its cell for each system that has a figure."""
    section = sections()["The suite offline"]
    table = [line for line in section.splitlines() if line.startswith("| ")]
    header, _, *lines = [[part.strip() for part in line.strip("|").split("|")] for line in table]
    return {
        entry: {system: value for system, value in zip(header[1:], values, strict=True) if value != "-"}
        for entry, *values in lines
    }


def test_the_rows_of_the_suite_are_stored_results_or_say_that_they_are_older():
    table = rows()
    current = {entry: cells for entry, cells in table.items() if OLDER not in entry}
    stored = {one["entry"] for one in STORED}
    assert set(current) == stored
    for entry, cells in current.items():
        assert cells == {system: cell(figure(entry, system)) for system in cells}
    assert sum(map(len, current.values())) == len(STORED)
    assert not {entry.removesuffix(f" {OLDER}") for entry in table if OLDER in entry} & stored


def test_every_other_table_names_the_commits_of_its_figures():
    """A section with a new table needs a row under `Which version each table is of`, with the commit and the day."""
    parts = sections()
    named = re.findall(
        r"^\| \[(.+)\]\(#[\w-]+\) \| [0-9a-f]{8}(?:, [0-9a-f]{8})* \| \d{4}-\d\d-\d\d(?: to \d{4}-\d\d-\d\d)? \|$",
        parts["Which version each table is of"],
        re.MULTILINE,
    )
    own = {"The suite offline", "Which version each table is of", "How this was made"}
    assert named == [
        name for name, text in parts.items() if name not in own and re.search(r"^\|.*\d", text, re.MULTILINE)
    ]


def test_stored_results_are_the_same_wherever_the_page_repeats_them():
    sets = {"SciFact": "SciFact", "NFCorpus": "NFCorpus, preprocessed and partial", "Cranfield": "Cranfield"}
    words = [figure(f"{entry}, retrieval: nDCG@10", "BM25") for entry in sets.values()]
    both = [figure(f"{entry}, hybrid retrieval: nDCG@10", "all-MiniLM-L6-v2") for entry in sets.values()]
    table = sections()["Queries by a table"]
    assert " | ".join(sets) in re.sub(r" \([^)]*\)", "", table)
    for row, found in (("hybrid, by the model", both), ("words alone", words)):
        (line,) = re.findall(rf"^\| {row} \| (.*) \|$", table, re.MULTILINE)
        told = [f"0{cell.partition(',')[0]}" for cell in line.split(" | ")]
        assert told == [f"{one['mean']:.4f}" for one in found]
    whole = cell(both[0]).replace("\\", "")
    assert f"on the test queries {whole}" in sections()["By separate commands"]


def test_stored_results_name_model_fingerprint_commit_and_date():
    for one in STORED:
        assert re.fullmatch(r"[0-9a-f]{8}", one["commit"]), one
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one["date"]), one
        if one["system"] != "BM25":
            assert re.fullmatch(r"[0-9a-f]{16}", one["fingerprint"]), one
            assert one["runtime"], one


def test_stored_results_are_of_the_model_as_it_is():
    fingerprints = {one["fingerprint"] for one in STORED if one["system"] != "BM25"}
    assert fingerprints == {find_model("all-MiniLM-L6-v2").card.fingerprint}


def test_the_readmes_figures_are_the_stored_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"nDCG@10 on SciFact, 300 queries: words, meaning, both \| ([^|]*) \|", text)
    system = "all-MiniLM-L6-v2"
    wanted = [
        figure("SciFact, retrieval: nDCG@10", "BM25"),
        figure("SciFact, retrieval: nDCG@10", system),
        figure("SciFact, hybrid retrieval: nDCG@10", system),
    ]
    assert told.replace("*", "").split(", ") == [f"{one['mean']:.3f}" for one in wanted]
