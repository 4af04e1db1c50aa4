"""Packs: the tokens and numbers of every example, and what decides whether a pack is used again."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from tests.tiny import WORDS, make_model
from tests.training.recipes import write
from training.data.packed import KeptStates, formats_of, pack
from training.task import TrainingTask

MOST = 9


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    found = find_model(str(make_model(tmp_path_factory.mktemp("packed") / "base")))
    prompts = {Format.QRY: "virus ", Format.PRX: "lung "}
    return replace(found, card=replace(found.card, prompts=prompts))


def ids(model, text):
    """Return a text's tokens by the tokenizer alone: the first ones, and the last, which is special."""
    found = load_tokenizer(model.folder, model.card).encode(text).ids
    return found if len(found) <= MOST else [*found[: MOST - 1], found[-1]]


def task(folder, records, **values):
    given = {"name": "t", "type": "ranked", "format": "prx", "query_format": "qry"} | values
    return TrainingTask.model_validate({**given, "train": write(folder / "records.jsonl", records)})


def judged(number, count=2):
    texts = [" ".join(WORDS[(number + one) % 20 :][: 1 + (number + one) % 12]) for one in range(count + 1)]
    query, *others = texts
    return {"query": query, "candidates": [{"title": one, "score": n + number / 8} for n, one in enumerate(others)]}


def test_a_pack_holds_the_tokens_and_the_numbers_of_every_example(tmp_path, model):
    records = [judged(number) for number in range(300)]
    bad = [{"query": ""}, {"query": "x", "candidates": []}, {"query": "y", "candidates": []}]
    given = task(tmp_path, [*records[:7], *bad, *records[7:]])
    found = pack(given, given.train, (), model, MOST, tmp_path / "packs")
    assert (len(found), found.columns, found.manifest.examples, found.manifest.labels) == (300, 3, 300, ())
    assert found.manifest.unusable == {"candidates is not a list of papers": 3}
    for number in (0, 1, 7, 255, 256, 299):
        query, one, other = records[number]["query"], *(c["title"] for c in records[number]["candidates"])
        for column, text in enumerate((f"virus {query}", f"lung {one}", f"lung {other}")):
            assert found.text(number, column).tolist() == ids(model, text)
            assert found.input(number, column).tolist() == ids(model, text)
        assert found.numbers(number) == [number / 8, 1 + number / 8]
    starts = np.concatenate([[0], np.cumsum(np.diff(found.starts))])
    kept = replace(found, kept=KeptStates(1, np.arange(len(found.tokens) + 5)[:, None], starts[:-1] + 5))
    assert kept.input(7, 1)[:, 0].tolist() == list(range(starts[22] + 5, starts[23] + 5))
    assert formats_of(given, 3) == [Format.QRY, Format.PRX, Format.PRX]
    assert formats_of(given.model_copy(update={"query_format": None}), 2) == [Format.PRX, Format.PRX]


def test_examples_without_numbers_and_with_several(tmp_path, model):
    triplets = [{part: {"title": word} for part, word in zip(("query", "pos", "neg"), WORDS, strict=False)}]
    plain = task(tmp_path, triplets, type="triplet")
    found = pack(plain, plain.train, (), model, MOST, tmp_path / "packs")
    assert (found.columns, found.numbers(0), found.targets.dtype, found.ends.tolist()) == (3, [], np.float64, [0])
    several = [{"title": "a", "label": labels} for labels in (["y"], [], ["y", "x"])]
    labelled = task(tmp_path, several, type="classification", multi_label=True, format="clf", query_format=None)
    found = pack(labelled, labelled.train, ("x", "y"), model, MOST, tmp_path / "packs")
    assert [found.numbers(number) for number in range(3)] == [[1], [], [0, 1]]
    assert found.manifest.labels == ("x", "y")


def test_a_pack_is_used_again_unless_something_changes(tmp_path, model):
    given, packs = task(tmp_path, [judged(number) for number in range(4)]), tmp_path / "packs"

    def key(task=given, labels=(), model=model, most=MOST):
        return pack(task, task.train, labels, model, most, packs).manifest.key

    first = key()
    written = {path: path.stat().st_mtime_ns for path in packs.rglob("*")}
    assert key() == first
    assert key(given.model_copy(update={"validation": given.train})) == first
    assert written == {path: path.stat().st_mtime_ns for path in packs.rglob("*")}
    assert sorted(path.name for path in (packs / first).iterdir()) == [
        *("ends.npy", "manifest.json", "starts.npy", "targets.npy", "tokens.bin")
    ]
    card = replace(model.card, prompts={})
    assert len({first, key(labels=("x",)), key(most=8), key(model=replace(model, card=card))}) == 4
    fewer = given.model_copy(update={"limit": 3})
    assert (len(pack(fewer, fewer.train, (), model, MOST, packs)), key(fewer) != first) == (3, True)
    assert key(task(tmp_path, [judged(5)])) != first
    assert json.loads((packs / first / "manifest.json").read_text())["key"] == first


def test_mistakes(tmp_path, model):
    uneven = task(tmp_path, [judged(1), judged(2, 3)])
    with pytest.raises(InputError, match="has examples of 3 and of 4 texts; give every query of the task t as many"):
        pack(uneven, uneven.train, (), model, MOST, tmp_path / "packs")
    empty = task(tmp_path, [])
    empty.train.write_text("[]")
    with pytest.raises(InputError, match=r"gets no example from .*: it has no records"):
        pack(empty, empty.train, (), model, MOST, tmp_path / "packs")
    wrong = task(tmp_path, [{"query": "x", "candidates": []}, {"query": "y"}, 3])
    with pytest.raises(InputError, match=r"gets no example from .*: 2 x candidates is not a list of papers; 1 x "):
        pack(wrong, wrong.train, (), model, MOST, tmp_path / "packs")
    assert list((tmp_path / "packs").glob("*/manifest.json")) == []
