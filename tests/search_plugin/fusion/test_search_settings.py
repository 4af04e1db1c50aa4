"""The file of tuned settings: written, read, and checked when it is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from search_plugin.contract.legs import Scored
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.fusions import FUSIONS, fusion_of, rrf
from search_plugin.fusion.search_settings import SearchSettings, read_search_settings, search_settings_json

LEGS = {"lexical": [Scored("a", 3.0), Scored("b", 1.0)], "prx": [Scored("b", 0.9), Scored("c", 0.8)]}
weights = st.dictionaries(st.text("abc", min_size=1), st.floats(0.001, 1e6), min_size=1)


@given(
    st.sampled_from(sorted(FUSIONS)),
    weights,
    st.none() | st.integers(1, 100_000),
    st.floats(0, 1000),
    st.builds(Bm25, st.floats(0, 100), st.floats(0, 1)),
)
def test_round_trip(tmp_path_factory, fusion, of_legs, constant, boost, bm25):
    tuned = SearchSettings(fusion, of_legs, constant if fusion == "rrf" else None, boost, bm25, {"measure": "nDCG@10"})
    path = tmp_path_factory.mktemp("tuned") / "tuned.json"
    path.write_text(search_settings_json(tuned))
    assert read_search_settings(path) == tuned


def test_a_rank_constant_goes_with_the_name():
    assert SearchSettings("rrf", {"prx": 1}, 20).name == "rrf@20"
    assert fusion_of("rrf@20")(LEGS, {}) == rrf(LEGS, {}, k=20) != rrf(LEGS, {})
    assert fusion_of("rrf") is rrf


@pytest.mark.parametrize("name", ["borda", "rrf@", "rrf@0", "rrf@x", "rrf@100001", "minmax@3", "rrf@1.5", "rrf@\u0661"])
def test_names_that_are_no_fusion(name):
    with pytest.raises(InputError, match="There is no fusion"):
        fusion_of(name)


GOOD = {"fusion": "minmax", "weights": {"lexical": 0.4, "prx": 0.6}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"fusion": "borda"}, "no fusion 'borda'"),
        ({"fusion": 3}, "holds no tuned settings .*fusion: "),
        ({"weights": {"prx": 0}}, "At least one of the tuned weights must be above 0"),
        ({"weights": {"prx": -1}}, "leg 'prx' must be a number"),
        ({"weights": {"": 1}}, "leg '' must be a number"),
        ({"weights": {"prx": True}}, "holds no tuned settings .*weights.prx: "),
        ({"weights": {"prx": "1"}}, "holds no tuned settings"),
        ({"weights": [1]}, "holds no tuned settings"),
        ({"rank_constant": 60}, "minmax takes no rank constant"),
        ({"fusion": "rrf", "rank_constant": 0}, "from 1 to 100,000"),
        ({"fusion": "rrf", "rank_constant": True}, "holds no tuned settings"),
        ({"fusion": "rrf", "rank_constant": "60"}, "holds no tuned settings"),
        ({"weight": 1}, "holds no tuned settings .*weight: "),
        ({"title_boost": -0.1}, "title_boost can't be -0.1; give a number from 0 to 1,000"),
        ({"title_boost": "1"}, "holds no tuned settings"),
        ({"bm25": {"k1": 1, "b": 2}}, "BM25 can't have k1 1 and b 2"),
        ({"bm25": {"k1": 1, "b": 0, "c": 0}}, "holds no tuned settings .*bm25.c: "),
        ({"fitted": 1}, "holds no tuned settings"),
    ],
)
def test_files_that_cannot_be(tmp_path, change, reason):
    (tmp_path / "t").write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(InputError, match=reason):
        read_search_settings(tmp_path / "t")


def test_what_a_file_leaves_out_is_as_without_tuning(tmp_path):
    (tmp_path / "t").write_text('{"title_boost": 1}')
    assert read_search_settings(tmp_path / "t") == SearchSettings(title_boost=1.0)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b" " * (2 << 20)])
def test_other_files(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(InputError, match=r"holds no tuned settings|too large for tuned settings"):
        read_search_settings(tmp_path / "t")
    with pytest.raises(InputError, match="can't be read"):
        read_search_settings(tmp_path / "absent")
