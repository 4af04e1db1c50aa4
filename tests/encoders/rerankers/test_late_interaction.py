"""Late interaction: against the formula in numpy, and against sentence-transformers, which reads both layouts."""

from __future__ import annotations

import json
import string

import numpy as np
import pytest
from safetensors.numpy import load_file

from corpora.errors import InputError
from encoders.rerankers.registry import load_reranker
from tests.encoders.checkpoints import make_colbert, make_pylate
from tests.encoders.formulas.modernbert import ModernBert
from tests.encoders.formulas.mpnet import MPNet
from tests.encoders.formulas.pairs import plain
from tests.encoders.oracle import Oracle
from tests.tiny import papers

QUERY = "virus lung response"
TEXTS = [f"{paper.title}. {paper.abstract}" for paper in papers(8)] + ["", "a. b, c: d."]
EXACT = {"precision": "fp32", "threads": 1}
FAMILIES = ("bert", "roberta", "mpnet", "modernbert")
BERT_BY_RUNTIME = [
    ("bert", "onnx"),
    pytest.param("bert", "torch", marks=pytest.mark.torch),
    pytest.param("bert", "openvino", marks=pytest.mark.openvino),
]
MASKS = ("[MASK]", "<mask>")


def vectors(folder, family, ids, attended, projection):
    """Every token's unit vector, by the oracle; those beyond the attended ones attend and are not attended to."""
    held = load_file(folder / "model.safetensors")
    weights = {plain(name): np.asarray(array, float) for name, array in held.items() if name != "linear.weight"}
    if attended == len(ids):
        network = (
            ModernBert(folder) if family == "modernbert" else {"mpnet": MPNet}.get(family, Oracle)(folder, weights)
        )
        hidden = network.hidden(ids)
    else:
        assert family in ("bert", "roberta")
        oracle = Oracle(folder, weights)
        oracle.attend = lambda i, hidden, context: Oracle.attend(oracle, i, hidden, context[:attended])
        hidden = oracle.hidden(ids)
    projected = hidden @ projection.T.astype(float)
    return projected / np.linalg.norm(projected, axis=1, keepdims=True)


def score(query, text):
    return (query @ text.T).max(axis=1).sum()


def by_hand(folder, family, scorer, query, text, *, lengths, skipped, marks, attends=False):
    """MaxSim of a pair, from the tokenizer's own tokens and the oracle's vectors."""
    where = folder / "1_Dense" / "model.safetensors"
    projection = load_file(where if where.exists() else folder / "model.safetensors")["linear.weight"]
    tokenizer = scorer.tokenizer
    mask = next(found for name in MASKS if (found := tokenizer.token_to_id(name)) is not None)
    made = []
    for given, mark, length in zip((query, text), marks, lengths, strict=True):
        first, *words, last = tokenizer.encode(given).ids
        made.append([first, tokenizer.token_to_id(mark), *words[: length - 3], last])
    asked, read = made
    filled = asked + [mask] * (lengths[0] - len(asked))
    q = vectors(folder, family, filled, len(filled) if attends else len(asked), projection)
    d = vectors(folder, family, read, len(read), projection)
    ids = {tokenizer.token_to_id(word) for word in skipped}
    return score(q, d[[place for place, token in enumerate(read) if token not in ids]])


@pytest.mark.parametrize(("family", "runtime"), [("roberta", "onnx"), *BERT_BY_RUNTIME])
def test_pylates_folder_scores_as_the_formula(family, runtime, tmp_path):
    folder = make_pylate(tmp_path / family, family)
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", runtime=runtime, **EXACT)
    given = {"lengths": (16, 40), "skipped": ".,:", "marks": ("[Q] ", "[D] ")}
    for query in (QUERY, " ".join(TEXTS)):
        expected = [by_hand(folder, family, scorer, query, text, **given) for text in TEXTS]
        assert np.ptp(expected) > 0.5
        np.testing.assert_allclose(scorer.scores(query, TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_expansion_tokens_can_be_attended_to(family, tmp_path):
    folder = make_pylate(tmp_path / family, family, attend_to_expansion_tokens=True, skiplist_words=[])
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    given = {"lengths": (16, 40), "skipped": "", "marks": ("[Q] ", "[D] "), "attends": True}
    expected = [by_hand(folder, family, scorer, QUERY, text, **given) for text in TEXTS]
    np.testing.assert_allclose(scorer.scores(QUERY, TEXTS), expected, atol=1e-5)


def test_the_older_name_of_the_setting_is_read_too(tmp_path):
    folder = make_pylate(tmp_path / "m", attend_to_expansion_tokens=True)
    scores = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT).scores(QUERY, TEXTS)
    path = folder / "config_sentence_transformers.json"
    path.write_text(path.read_text().replace("attend_to_expansion_tokens", "attend_to_mask_tokens"))
    again = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT).scores(QUERY, TEXTS)
    np.testing.assert_array_equal(again, scores)
    path.write_text(path.read_text().replace('"attend_to_mask_tokens": true', '"attend_to_mask_tokens": false'))
    other = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT).scores(QUERY, TEXTS)
    assert np.abs(np.subtract(other, scores)).max() > 1e-3


@pytest.mark.parametrize(
    ("changed", "expects"),
    [
        ({}, {}),
        ({"mask_punctuation": False}, {"skipped": ""}),
        ({"attend_to_mask_tokens": True}, {"attends": True}),
        ({"query_maxlen": 9, "doc_maxlen": 12}, {"lengths": (9, 12)}),
        # What ColBERT's code does where its file says nothing.
        (dict.fromkeys(("mask_punctuation", "attend_to_mask_tokens", "query_token_id", "doc_token_id"), ...), {}),
        ({"query_maxlen": ...}, {"lengths": (32, 30)}),
    ],
)
def test_colberts_own_folder_scores_as_the_formula(tmp_path, changed, expects):
    folder = make_colbert(tmp_path / "colbert", **{name: one for name, one in changed.items() if one is not ...})
    metadata = json.loads((folder / "artifact.metadata").read_text())
    kept = {name: one for name, one in metadata.items() if changed.get(name) is not ...}
    (folder / "artifact.metadata").write_text(json.dumps(kept))
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    given = {"lengths": (14, 30), "skipped": string.punctuation, "marks": ("[unused0]", "[unused1]")} | expects
    expected = [by_hand(folder, "bert", scorer, QUERY, text, **given) for text in TEXTS]
    np.testing.assert_allclose(scorer.scores(QUERY, TEXTS), expected, atol=1e-5)


CASES = {
    "pylate": (make_pylate, {}),
    "attends": (make_pylate, {"attend_to_expansion_tokens": True}),
    "no expansion": (make_pylate, {"do_query_expansion": False}),
    "default words": (make_pylate, {"skiplist_words": None}),
    "text prefixes": (make_pylate, {"query_prefix": "virus: ", "document_prefix": "lung: "}),
    "prompts": (make_pylate, {"prompts": {"query": "[Q] gene ", "document": "brain "}}),
    "colbert": (make_colbert, {}),
    "colbert attends": (make_colbert, {"attend_to_mask_tokens": True, "mask_punctuation": False}),
}


@pytest.mark.mteb
@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_sentence_transformers(case, saved, tmp_path):
    from sentence_transformers import MultiVectorEncoder

    make, settings = CASES[case]
    folder = make(tmp_path / "model", **settings)
    theirs = MultiVectorEncoder(str(folder), device="cpu")
    if saved:
        theirs.save_pretrained(str(tmp_path / "saved"))
        theirs = MultiVectorEncoder(str(tmp_path / "saved"), device="cpu")
    place = tmp_path / "saved" if saved else folder
    ours = load_reranker(str(place), cache_dir=tmp_path / "cache", **EXACT)
    for query in (QUERY, " ".join(TEXTS[:3])):
        asked = theirs.encode_query([query])
        expected = theirs.similarity(asked, theirs.encode_document(TEXTS)).numpy()[0]
        np.testing.assert_allclose(ours.scores(query, TEXTS), expected, atol=1e-4)


def test_int8_is_near_and_an_empty_list_has_no_scores(tmp_path):
    folder = make_pylate(tmp_path / "model")
    exact, fast = (
        load_reranker(str(folder), cache_dir=tmp_path / "cache", precision=kind) for kind in ("fp32", "int8")
    )
    assert fast.runtime == "onnx-int8"
    np.testing.assert_allclose(fast.scores(QUERY, TEXTS), exact.scores(QUERY, TEXTS), atol=0.5)
    assert exact.scores(QUERY, []).shape == (0,)


def configure(path, **values):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("config.json", {"model_type": "t5"}, "of the family 't5'"),
        ("config.json", {"hidden_act": "relu"}, "has settings that ses can't run as a reranker"),
        (
            "1_Dense/config.json",
            {"activation_function": "torch.nn.modules.activation.Tanh"},
            "an activation or a residual",
        ),
        ("config_sentence_transformers.json", {"query_length": 0}, "gives 0 for a number of tokens"),
        ("config_sentence_transformers.json", {"document_length": "x"}, "gives 'x' for a number of tokens"),
        ("config_sentence_transformers.json", {"document_length": 3}, "reads 3 tokens, too few"),
        ("config_sentence_transformers.json", {"skiplist_words": "."}, "gives no list of words to skip"),
        ("config_sentence_transformers.json", {"query_expansion": {"strategy": "min", "length": 9}}, "than fixed"),
    ],
)
def test_what_ses_cannot_run(name, values, said, tmp_path):
    folder = make_pylate(tmp_path / "model")
    configure(folder / name, **values)
    with pytest.raises(InputError) as caught:
        load_reranker(str(folder), cache_dir=tmp_path / "cache")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        ([("Transformer", ""), ("LSTM", "1_Dense")], "modules that ses can't run: LSTM"),
        ([("Transformer", ""), ("Dense", "1_Dense"), ("Dense", "1_Dense")], "has several projections"),
        ([("Transformer", "")], "holds no projection"),
        ([("Transformer", ""), ("Dense", "../other")], "which is outside of it"),
    ],
)
def test_modules_that_ses_cannot_run(modules, said, tmp_path):
    folder = make_pylate(tmp_path / "model")
    (folder / "modules.json").write_text(json.dumps([{"path": path, "type": f"a.{kind}"} for kind, path in modules]))
    with pytest.raises(InputError) as caught:
        load_reranker(str(folder), cache_dir=tmp_path / "cache")
    assert said in str(caught.value)


def test_a_vocabulary_without_a_mask(tmp_path):
    folder = make_pylate(tmp_path / "model")
    configure(
        folder / "config_sentence_transformers.json", query_expansion={"strategy": "fixed", "length": 9, "token": "no"}
    )
    with pytest.raises(InputError, match="has no token to fill queries up with"):
        load_reranker(str(folder), cache_dir=tmp_path / "cache")
