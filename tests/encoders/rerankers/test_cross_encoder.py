"""Cross-encoders of every family: against their formulas in numpy, and against sentence-transformers."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.cache import EmbeddingCache
from encoders.rerankers.registry import load_reranker
from tests.encoders.checkpoints import make_cross_encoder
from tests.encoders.checkpoints.pairs import FAMILIES
from tests.encoders.formulas.pairs import score
from tests.tiny import WORDS, papers

QUERY = "virus lung response"
TEXTS = [f"{paper.title}. {paper.abstract}" for paper in papers(9)] + ["", "the {virus} [SEP] of Zürich"]
LONG = " ".join(random.Random(5).choices(WORDS, k=80))
EXACT = {"precision": "fp32", "threads": 1}
OTHER_RUNTIMES = [pytest.param("torch", marks=pytest.mark.torch), pytest.param("openvino", marks=pytest.mark.openvino)]


@pytest.fixture(params=FAMILIES)
def folder(request, tmp_path):
    return make_cross_encoder(tmp_path / request.param, request.param)


def sigmoid(logit):
    return 1 / (1 + math.exp(-logit))


def set_json(path, **values):
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))


@pytest.mark.parametrize("folder", ["bert", "modernbert"], indirect=True)
@pytest.mark.parametrize("runtime", OTHER_RUNTIMES)
def test_other_runtimes_give_the_same_scores(runtime, folder, tmp_path):
    ours, theirs = (
        load_reranker(str(folder), cache_dir=tmp_path / "cache", runtime=one, **EXACT) for one in ("onnx", runtime)
    )
    assert theirs.runtime == f"{runtime}-fp32"
    np.testing.assert_allclose(theirs.scores(LONG, TEXTS), ours.scores(LONG, TEXTS), atol=1e-5)


def test_a_pair_has_the_score_of_the_formula(folder, tmp_path):
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    assert scorer.runtime == "onnx-fp32"
    for query in (QUERY, LONG):
        pairs = scorer.tokenizer.encode_batch([(query, text) for text in TEXTS])
        assert max(len(pair.ids) for pair in pairs) <= 60 == scorer.card.max_tokens
        expected = [sigmoid(score(folder, folder.name, pair.ids, pair.type_ids)) for pair in pairs]
        assert np.ptp(expected) > 0.05
        np.testing.assert_allclose(scorer.scores(query, TEXTS), expected, atol=1e-5)


@pytest.mark.mteb
@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("saved", [False, True])
def test_scores_are_those_of_sentence_transformers(saved, folder, tmp_path):
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(folder), device="cpu")
    if saved:  # as the library writes it today: modules.json, and its settings in a file of their own
        theirs.save_pretrained(str(tmp_path / "saved"))
        theirs = CrossEncoder(str(tmp_path / "saved"), device="cpu")
    place = tmp_path / "saved" if saved else folder
    ours = load_reranker(str(place), cache_dir=tmp_path / "cache", **EXACT)
    for query in (QUERY, LONG, ""):
        expected = theirs.predict([(query, text) for text in TEXTS])
        np.testing.assert_allclose(ours.scores(query, TEXTS), expected, atol=1e-5)


@pytest.mark.mteb
@pytest.mark.torch
@pytest.mark.slow
def test_activation_prompt_and_length_are_those_of_sentence_transformers(tmp_path):
    import torch
    from sentence_transformers import CrossEncoder

    folder = make_cross_encoder(tmp_path / "bert")
    theirs = CrossEncoder(
        str(folder),
        device="cpu",
        max_length=24,
        activation_fn=torch.nn.Identity(),
        prompts={"mine": "gene brain "},
        default_prompt_name="mine",
    )
    theirs.save_pretrained(str(tmp_path / "saved"))
    ours = load_reranker(str(tmp_path / "saved"), cache_dir=tmp_path / "cache", **EXACT)
    assert ours.card.max_tokens == 24
    expected = theirs.predict([(QUERY, text) for text in TEXTS])
    assert expected.min() < 0
    np.testing.assert_allclose(ours.scores(QUERY, TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "settings", "expected"),
    [
        ({}, {}, sigmoid),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, {}, lambda logit: logit),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Tanh"}}, {}, math.tanh),
        ({"sentence_transformers": {"activation_fn": "mine.Odd"}}, {}, sigmoid),
        (
            {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
            {"activation_fn": "torch.nn.modules.activation.Tanh"},
            math.tanh,
        ),
    ],
)
def test_the_activation_is_the_folders(config, settings, expected, tmp_path):
    folder = make_cross_encoder(tmp_path / "bert", **config)
    if settings:
        set_json(folder / "config_sentence_transformers.json", **settings)
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    pairs = scorer.tokenizer.encode_batch([(QUERY, text) for text in TEXTS])
    logits = [score(folder, "bert", pair.ids, pair.type_ids) for pair in pairs]
    np.testing.assert_allclose(scorer.scores(QUERY, TEXTS), [expected(logit) for logit in logits], atol=1e-5)


def test_the_default_prompt_stands_before_the_query(tmp_path):
    plain = make_cross_encoder(tmp_path / "plain")
    prompted = make_cross_encoder(tmp_path / "prompted")
    prompts = {"a": "gene ", "b": "brain "}
    set_json(prompted / "config_sentence_transformers.json", prompts=prompts, default_prompt_name="b")
    first, second = (load_reranker(str(one), cache_dir=tmp_path / "cache", **EXACT) for one in (plain, prompted))
    np.testing.assert_array_equal(first.scores(f"brain {QUERY}", TEXTS), second.scores(QUERY, TEXTS))
    assert first.card.fingerprint != second.card.fingerprint


def test_modernberts_head_can_take_the_mean(tmp_path):
    folder = make_cross_encoder(tmp_path / "m", "modernbert", classifier_pooling="mean")
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    pairs = scorer.tokenizer.encode_batch([(QUERY, text) for text in TEXTS])
    expected = [sigmoid(score(folder, "modernbert", pair.ids, pair.type_ids, "mean")) for pair in pairs]
    np.testing.assert_allclose(scorer.scores(QUERY, TEXTS), expected, atol=1e-5)


def test_a_tokenizer_that_tells_no_segments_gives_none(tmp_path):
    folder = make_cross_encoder(tmp_path / "bert")
    set_json(folder / "tokenizer_config.json", model_input_names=["input_ids", "attention_mask"])
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    (pair,) = scorer.tokenizer.encode_batch([(QUERY, TEXTS[0])])
    expected = sigmoid(score(folder, "bert", pair.ids, [0] * len(pair.ids)))
    assert scorer.scores(QUERY, TEXTS[:1])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("runtime", ["onnx", *OTHER_RUNTIMES])
def test_int8_and_bf16_are_near(runtime, tmp_path):
    folder, given = make_cross_encoder(tmp_path / "bert"), {"cache_dir": tmp_path / "cache", "threads": 1}
    exact = load_reranker(str(folder), precision="fp32", **given).scores(QUERY, TEXTS)
    fast = load_reranker(str(folder), runtime=runtime, precision="bf16" if runtime == "torch" else "int8", **given)
    assert np.abs(fast.scores(QUERY, TEXTS) - exact).max() < 0.05


def test_a_pairs_score_does_not_depend_on_the_others(tmp_path):
    folder = make_cross_encoder(tmp_path / "bert")
    scorer = load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT)
    alone = [scorer.scores(QUERY, [text])[0] for text in TEXTS]
    np.testing.assert_allclose(scorer.scores(QUERY, TEXTS * 3), alone * 3, atol=1e-6)
    assert scorer.scores(QUERY, []).shape == (0,)


def test_scores_are_kept_by_model_query_and_text(tmp_path):
    folder = make_cross_encoder(tmp_path / "bert")
    cache = EmbeddingCache(tmp_path / "cache.sqlite")
    given = {"cache_dir": tmp_path / "cache", "cache": cache, **EXACT}
    scorer = load_reranker(str(folder), **given)
    first = scorer.scores(QUERY, [*TEXTS, TEXTS[0]])
    assert first[0] == first[-1]

    class Nothing:
        card, runtime = scorer.card, scorer.runtime

        def scores(self, query, texts):
            raise AssertionError((query, texts))

    silent = type(scorer)(Nothing(), cache)
    np.testing.assert_array_equal(silent.scores(QUERY, TEXTS), first[:-1])
    for query, texts in ((f"{QUERY} x", TEXTS[:1]), (QUERY, ["new"]), ("", [f"{QUERY}\0{TEXTS[0]}"])):
        with pytest.raises(AssertionError):
            silent.scores(query, texts)
    other = load_reranker(str(make_cross_encoder(tmp_path / "other", seed=1)), **given)
    assert not np.allclose(other.scores(QUERY, TEXTS), first[:-1])
    assert (other.card, other.runtime) == (other.scorer.card, "onnx-fp32")


def test_the_own_card_may_set_the_length_alone(tmp_path):
    folder = make_cross_encoder(tmp_path / "bert")
    (folder / "ses_card.json").write_text('{"max_tokens": 20}')
    assert load_reranker(str(folder), cache_dir=tmp_path / "cache", **EXACT).card.max_tokens == 20
    (folder / "ses_card.json").write_text('{"pooling": "mean"}')
    with pytest.raises(InputError, match="sets pooling; for a reranker, it sets max_tokens only"):
        load_reranker(str(folder), cache_dir=tmp_path / "cache")
