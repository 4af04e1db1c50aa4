"""The progress of encoders: by batch, and a whole per text."""

from __future__ import annotations

from functools import partial

import pytest

from encoders.cache import EmbeddingCache
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.tokens.batching import batches
from tests.encoders.test_composed import compose
from tests.tiny import WORDS, make_model

TEXTS = [" ".join(WORDS[: 1 + number % 30]) + f" {WORDS[number % 7]} {'a' * (number % 9)}" for number in range(60)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of eight texts, which are as many as a few texts need."""
    monkeypatch.setattr("encoders.encoder.batches", partial(batches, max_texts=8))


class Steps(list):
    """Notes the steps, and the blocks that begin."""

    def __init__(self):
        self.blocks = []

    def __call__(self, texts, *, block=0.0):
        self.append(texts)
        self.blocks += [block] if block else []


def steps_of(encoder, texts, formats):
    steps = Steps()
    vectors = encoder.encode_formats(texts, formats, steps)
    assert set(vectors) == set(formats)
    assert sum(steps.blocks) == pytest.approx(len(texts))
    return steps


@pytest.mark.parametrize("kind", ["plain", "codes", "ensemble", "routes", "passages"])
def test_the_steps_add_up_to_the_texts(kind, tmp_path):
    make_model(tmp_path / "a", codes=kind == "codes")
    make_model(tmp_path / "b", seed=1, codes=True)
    folder = {
        "ensemble": lambda: compose(tmp_path, architecture="ensemble", members=["../a", "../b"]),
        "routes": lambda: compose(
            tmp_path, architecture="routes", members={"prx": "../a", "qry": "../b", "clf": "../b"}
        ),
    }.get(kind, lambda: tmp_path / "a")()
    long_text = "passages" if kind == "passages" else "start"
    encoder = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32", long_text=long_text)
    texts = [*TEXTS, *TEXTS[:5], " ".join(WORDS * 20)]
    for formats in ([Format.PRX], [Format.PRX, Format.QRY, Format.CLF]):
        steps = steps_of(encoder, texts, formats)
        assert sum(steps) == pytest.approx(len(texts))
        assert len(steps) >= len(set(texts)) / 8


def test_a_batch_counts_by_its_tokens(tmp_path):
    make_model(tmp_path / "a")
    encoder = load_encoder(str(tmp_path / "a"), cache_dir=tmp_path / "cache", precision="fp32")
    texts = [" ".join(WORDS[:count]) for count in (*[28] * 8, *[3] * 8, *range(10, 18))]
    tokens = sorted((len(encoder.tokenizer.encode(text).ids) for text in texts), reverse=True)
    distinct = sorted({text: len(encoder.tokenizer.encode(text).ids) for text in texts}.values(), reverse=True)
    assert len(tokens) > len(distinct) == 10
    known, *batches = steps_of(encoder, texts, [Format.PRX])
    assert known == len(texts) - len(distinct)
    share = len(distinct) / sum(distinct)
    assert batches == pytest.approx([share * sum(distinct[:8]), share * sum(distinct[8:])])


def test_what_the_cache_holds_is_done_at_once(tmp_path):
    make_model(tmp_path / "a")
    cache = EmbeddingCache(tmp_path / "vectors.sqlite")
    encoder = load_encoder(str(tmp_path / "a"), cache_dir=tmp_path / "cache", precision="fp32", cache=cache)
    encoder.encode(TEXTS[:40])
    steps = steps_of(encoder, TEXTS, [Format.PRX])
    assert steps[0] == 40
    assert sum(steps) == pytest.approx(60)
    assert steps_of(encoder, TEXTS, [Format.PRX]) == [60]


def test_an_error_of_the_receiver_ends_the_work_and_whole_parts_are_kept(tmp_path):
    make_model(tmp_path / "a")
    cache = EmbeddingCache(tmp_path / "vectors.sqlite")
    encoder = load_encoder(str(tmp_path / "a"), cache_dir=tmp_path / "cache", precision="fp32", cache=cache)
    texts = [f"{word} {other}" for word in WORDS[:20] for other in WORDS[:10]]
    seen = []

    def stop(done, *, block=0.0):
        seen.append(done)
        if sum(seen) >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encoder.encode_formats(texts, [Format.PRX], stop)
    assert sum(seen) < 110
    assert steps_of(encoder, texts, [Format.PRX])[0] == 64
