"""Models made of others: ensembles, a model for each format, and batches of mixed formats."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.exact import encoder_of
from tests.tiny import WORDS, make_model

TEXTS = ["virus", " ".join(WORDS[:17]), "lung [SEP] cell protein", ""]


def compose(tmp_path, **card):
    folder = tmp_path / "whole"
    folder.mkdir(exist_ok=True)
    (folder / "ses_card.json").write_text(json.dumps(card))
    return folder


@pytest.fixture
def two(tmp_path):
    """A plain model `a` and a control-code model `b`, and their encoders."""
    a, b = make_model(tmp_path / "a"), make_model(tmp_path / "b", seed=1, codes=True)
    return encoder_of(a, tmp_path), encoder_of(b, tmp_path)


def test_an_ensemble_is_the_mean_of_its_members(two, tmp_path):
    whole = encoder_of(compose(tmp_path, architecture="ensemble", members=["../a", "../b"]), tmp_path)
    vectors = whole.encode_formats(TEXTS, list(Format))
    for task_format in Format:
        expected = sum(member.encode(TEXTS, task_format) for member in two) / 2
        np.testing.assert_allclose(vectors[task_format], expected, atol=1e-5)
        np.testing.assert_allclose(whole.encode(TEXTS, task_format), expected, atol=1e-5)
    assert vectors[Format.PRX].dtype == np.float32


def test_an_ensemble_may_set_its_members_side_by_side(two, tmp_path):
    make_model(tmp_path / "narrow", width=32, seed=2)
    members = ["../a", "../b", "../narrow"]
    whole = encoder_of(compose(tmp_path, architecture="ensemble", members=members, combine="concat"), tmp_path)
    assert whole.card.dimension == 160
    vectors = whole.encode(TEXTS, Format.QRY)
    np.testing.assert_allclose(vectors[:, :64], two[0].encode(TEXTS, Format.QRY), atol=1e-5)
    np.testing.assert_allclose(vectors[:, 64:128], two[1].encode(TEXTS, Format.QRY), atol=1e-5)
    assert vectors.shape == (4, 160)


def test_routes_take_each_format_from_its_model(two, tmp_path):
    members = {"prx": "../a", "qry": "../b", "clf": "../b"}
    whole = encoder_of(compose(tmp_path, architecture="routes", members=members), tmp_path)
    vectors = whole.encode_formats(TEXTS, [Format.QRY, Format.PRX, Format.CLF])
    assert list(vectors) == [Format.QRY, Format.PRX, Format.CLF]
    np.testing.assert_allclose(vectors[Format.PRX], two[0].encode(TEXTS), atol=1e-5)
    for task_format in (Format.QRY, Format.CLF):
        np.testing.assert_allclose(vectors[task_format], two[1].encode(TEXTS, task_format), atol=1e-5)
        np.testing.assert_allclose(whole.encode(TEXTS, task_format), vectors[task_format], atol=1e-5)
    with pytest.raises(InputError, match="has no rgn vectors, only prx, qry, clf"):
        whole.encode(TEXTS, Format.RGN)


def test_the_fingerprint_follows_the_members_and_how_they_are_combined(two, tmp_path):
    prints = {member.card.fingerprint for member in two}
    for card in (
        {"architecture": "ensemble", "members": ["../a", "../b"]},
        {"architecture": "ensemble", "members": ["../b", "../a"], "combine": "concat"},
        {"architecture": "ensemble", "members": ["../a", "../b"], "combine": "concat"},
        {"architecture": "routes", "members": {"prx": "../a", "qry": "../b"}},
        {"architecture": "routes", "members": {"prx": "../b", "qry": "../a"}},
    ):
        prints.add(find_model(str(compose(tmp_path, **card))).card.fingerprint)
    assert len(prints) == 7


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"architecture": "ensemble"}, "must name its members: a list of two or more models."),
        ({"architecture": "ensemble", "members": ["../a"]}, "must name its members: a list of two or more models."),
        ({"architecture": "ensemble", "members": {"prx": "../a", "qry": "../b"}}, "must name its members: a list"),
        ({"architecture": "ensemble", "members": ["../a", 3]}, "must name its members: a list"),
        ({"architecture": "ensemble", "members": True}, "must name its members: a list"),
        ({"architecture": "routes", "members": ["../a", "../b"]}, "a model for each of two or more formats."),
        ({"architecture": "routes", "members": {"prx": "../a", "xyz": "../b"}}, "sets members for xyz; "),
        ({"architecture": "ensemble", "members": ["../a", "../b"], "combine": "max"}, "by 'max'; choose mean "),
        ({"architecture": "ensemble", "members": ["../a", "../narrow"]}, "have the same dimension, and it is 64 in"),
        ({"architecture": "ensemble", "members": ["../a", "../roberta"]}, "have the same separator, and it is [SEP]"),
        ({"architecture": "ensemble", "members": ["../a", "../nested"]}, "is made of others; name those instead"),
        ({"architecture": "ensemble", "members": ["../a", "../whole"]}, "/whole is made of itself; correct its"),
    ],
)
def test_what_can_not_be_composed_is_told(card, message, two, tmp_path):
    make_model(tmp_path / "narrow", width=32)
    make_model(tmp_path / "roberta", architecture="roberta")
    (tmp_path / "nested").mkdir()
    nested = {"architecture": "ensemble", "members": ["../a", "../b"]}
    (tmp_path / "nested" / "ses_card.json").write_text(json.dumps(nested))
    with pytest.raises(InputError) as refused:
        find_model(str(compose(tmp_path, **card)))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_routes_ask_what_their_model_of_papers_has_made(two, tmp_path):
    members = {"prx": "../a", "qry": "../b"}
    routed = find_model(str(compose(tmp_path, architecture="routes", members=members))).card
    papers = two[0].card
    assert (routed.papers_by, papers.papers_by) == (papers.fingerprint, "")
    assert routed.fingerprint != papers.fingerprint
    assert replace(routed, papers_by="").fingerprint == routed.fingerprint
    alone = find_model(str(compose(tmp_path, architecture="routes", members={"qry": "../b", "clf": "../b"}))).card
    assert alone.papers_by == ""
