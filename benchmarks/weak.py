"""Floors of weak matches (`search_plugin/ranking/weakness.py`): fitted on judged and made-up queries, tried on others.

Needs SES_TEST_DATA and the extra eval; encodes 10,000 papers for each model first, or takes their vectors from the
cache folder. Run: python -m benchmarks.weak [MODEL ...]
"""

from __future__ import annotations

import random
import string
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.common import data_dir
from corpora.registry import get_corpus
from encoders.registry import DEFAULT_MODEL, find_model
from encoders.text_encoder import TextEncoder
from eval.retrieval.beir import BeirFolder
from indexer.job import IndexJob
from indexer.pipeline import index_corpus
from search_plugin.contract.engine import Index
from search_plugin.contract.schema import SEARCHED
from search_plugin.engines.registry import connect
from search_plugin.ranking.planning import make_plan
from search_plugin.ranking.stages import fuse, render, retrieve
from search_plugin.ranking.state import SearchState
from search_plugin.ranking.weakness import MatchThreshold, signals
from search_plugin.request import SearchRequest
from ses.models.loaded_model import make_encoder
from ses.settings import load_settings

FITTED = (("scifact", "train"), ("nfcorpus-preprocessed", "dev"))
HELD_OUT = (("scifact", "test"), ("nfcorpus-preprocessed", "test"), ("cranfield", "test"))
LOST = 0.015
"""Share of the judged queries of each data set whose relevant paper may be called weak."""
WEIGHTS = np.arange(0, 1.01, 0.05)


class Seen(NamedTuple):
    """What a search showed.

    Attributes:
        signals: Similarity and share of words of each hit, (hits, 2).
        relevant: Position of the first judged relevant hit; -1 where there is none.
    """

    signals: np.ndarray
    relevant: int


def main() -> None:
    for model in sys.argv[1:] or [DEFAULT_MODEL]:
        encoder = make_encoder(load_settings(), find_model(model))
        with tempfile.TemporaryDirectory() as folder:
            indexes = {name: indexed(name, encoder, Path(folder)) for name in dict.fromkeys(dict(HELD_OUT))}
            judged = {case: list(searched_judged(indexes[case[0]], encoder, *case)) for case in (*FITTED, *HELD_OUT)}
            made_up = {
                (name, kind): [seen(index, encoder, query) for query in queries]
                for name, index in indexes.items()
                for kind, queries in invented().items()
            }
        threshold = fit(
            [judged[pair] for pair in FITTED],
            # Every other made-up query, on the data sets fitted on; the rest is for the trial.
            [case for (name, _), cases in made_up.items() if name in dict(FITTED) for case in cases[::2]],
        )
        print(
            f"\n{model} ({encoder.card.fingerprint}): "
            f"MatchThreshold(least={threshold.least:.3f}, words={threshold.words:.2f})\n"
        )
        print("| queries | fitted on | relevant paper on the page | of these called weak | all hits weak |")
        print("| --- | --- | --- | --- | --- |")
        for pair, cases in judged.items():
            found = [case for case in cases if case.relevant >= 0]
            lost = share(weak(case, threshold)[case.relevant] for case in found)
            nothing = share(weak(case, threshold).all() for case in cases)
            fitted = "yes" if pair in FITTED else "no"
            print(f"| {' '.join(pair)} ({len(cases):,}) | {fitted} | {len(found):,} | {lost:.1%} | {nothing:.1%} |")
        print("\n| made-up queries, those not fitted on | data set | all hits weak | hits that are weak |")
        print("| --- | --- | --- | --- |")
        for (name, kind), cases in made_up.items():
            rest = cases[1::2] if name in dict(FITTED) else cases
            nothing = share(weak(case, threshold).all() for case in rest)
            hits = share(flag for case in rest for flag in weak(case, threshold))
            print(f"| {kind} ({len(rest)}) | {name} | {nothing:.1%} | {hits:.1%} |")


def invented() -> dict[str, list[str]]:
    """Queries that no paper of the data sets answers, by kind."""
    typed = tomllib.loads(Path(__file__).with_name("weak_queries.toml").read_text(encoding="utf-8"))
    draw = random.Random(1)
    keys = ["".join(draw.choices(string.ascii_lowercase, k=draw.randint(5, 12))) for _ in range(30)]
    pairs = [" ".join("".join(draw.choices("asdfghjkl", k=6)) for _ in range(2)) for _ in range(30)]
    dois = [
        f"10.{draw.randint(1000, 9999)}/j.{draw.choice(string.ascii_lowercase)}.{draw.randint(1990, 2020)}.0"
        f"{draw.randint(1, 9)}.{draw.randint(100, 999)}"
        for _ in range(20)
    ]
    numbers = [str(draw.randint(1_000, 40_000_000)) for _ in range(40)]
    return {
        "keys and syllables": [*keys, *pairs],
        "identifiers and numbers": [*dois, *numbers],
        "other languages": typed["languages"],
        "other topics": typed["topics"],
    }


def indexed(name: str, encoder: TextEncoder, folder: Path) -> Index:
    """Index one of the data sets."""
    return indexed_folder(data_dir() / "eval" / name, encoder, folder)


def indexed_folder(path: Path, encoder: TextEncoder, folder: Path) -> Index:
    """Index a data set in BEIR's form, under the name of its folder."""
    engine = connect(f"embedded:{folder}/indexes")
    job = IndexJob(
        records=lambda: get_corpus("beir").read(path, {}),
        source=path.name,
        index=path.name,
        card=encoder.card,
        encoder=lambda: encoder,
        state_dir=folder,
    )
    index_corpus(job, engine)
    return engine.open(path.name)


def searched_judged(index: Index, encoder: TextEncoder, name: str, split: str) -> Iterator[Seen]:
    judged = BeirFolder(data_dir() / "eval" / name).judged(split)
    for query, text in judged.texts.items():
        yield seen(index, encoder, text, {id_ for id_, grade in judged.qrels.gains[query].items() if grade > 0})


def seen(index: Index, encoder: TextEncoder, query: str, relevant: Iterable[str] = ()) -> Seen:
    """Search as `ses search` does, up to the page."""
    request = SearchRequest(query)
    state = SearchState(index, request, make_plan(index, request, encoder))
    for stage in (retrieve, fuse, render):
        state = stage(state)
    right = set(relevant)
    first = next((place for place, hit in enumerate(state.hits) if hit.id in right), -1)
    return Seen(np.array([signals(hit, state, SEARCHED) for hit in state.hits]).reshape(-1, 2), first)


def weak(case: Seen, threshold: MatchThreshold) -> np.ndarray:
    """Which hits are weak, bool (hits,)."""
    return np.array([threshold.strength(*pair) < threshold.least for pair in case.signals.tolist()], bool)


def fit(judged: Sequence[Sequence[Seen]], made_up: Sequence[Seen]) -> MatchThreshold:
    """Return the threshold that calls as many hits of made-up queries weak as it can, and few relevant ones."""
    relevant = [np.array([case.signals[case.relevant] for case in cases if case.relevant >= 0]) for cases in judged]

    def passed(threshold: MatchThreshold) -> float:
        return share(not weak(case, threshold).all() for case in made_up)

    thresholds = [
        MatchThreshold(
            float(min(np.quantile(pairs @ (1, words), LOST) for pairs in relevant).round(3)), float(words.round(2))
        )
        for words in WEIGHTS
    ]
    for threshold in thresholds:
        print(
            f"words {threshold.words:.2f}: least {threshold.least:.3f}, "
            f"made-up queries with a hit not weak {passed(threshold):.1%}"
        )
    return min(thresholds, key=passed)


def share(flags: Iterable[bool]) -> float:
    given = list(flags)
    return sum(map(bool, given)) / len(given) if given else 0.0


if __name__ == "__main__":
    main()
