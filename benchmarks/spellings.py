"""Other spellings of a query's words (`search_plugin/understanding/expansion`): nDCG@10 on three data sets, by kind.

Needs SES_TEST_DATA and the extra eval; encodes 10,000 papers first, or takes their vectors from the cache folder. A
folder keeps the indexes for the next run. Run: python -m benchmarks.spellings [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.common import data_dir
from benchmarks.weak import indexed
from corpora.errors import NotFoundError
from encoders.registry import DEFAULT_MODEL, find_model
from encoders.text_encoder import TextEncoder
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.retrieval.protocol import DEPTH, first_of
from eval.trec.runs import Run, ScoredIds
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Plan
from search_plugin.contract.trace import Clock
from search_plugin.engines.registry import connect
from search_plugin.ranking.planning import make_plan
from search_plugin.ranking.state import SearchState
from search_plugin.request import MAX_QUERY, SearchRequest
from search_plugin.search import rank_papers
from search_plugin.understanding.expansion.acronyms import long_forms
from search_plugin.understanding.expansion.expand import KINDS, expand
from search_plugin.understanding.foreign import foreign_language
from search_plugin.understanding.spelling import correct, look_up_words
from ses.loaded_model import make_encoder
from ses.settings import load_settings

SETS = ("cranfield", "scifact", "nfcorpus-preprocessed")
TRIALS: Mapping[str, Sequence[str]] = {
    "none": (),
    **{kind: (kind,) for kind in KINDS},
    "acronyms": ("acronyms",),
    "corrected": ("corrected",),
    "all": (*KINDS, "acronyms", "corrected"),
}


def main() -> None:
    encoder = make_encoder(load_settings(), find_model(DEFAULT_MODEL))
    print("| data set | spellings | changed | lexical | hybrid |\n| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder)
        for name in SETS:
            try:
                index = connect(f"embedded:{kept}/indexes").open(name)
            except NotFoundError:
                index = indexed(name, encoder, kept)
            judged = BeirFolder(data_dir() / "eval" / name).judged("test")
            plain = {query: verbatim(index, text, encoder) for query, text in judged.texts.items()}
            for trial, kinds in TRIALS.items():
                plans = {query: spelled(plan, index, kinds, encoder) for query, plan in plain.items()}
                changed = sum(plan is not plain[query] for query, plan in plans.items())
                means = []
                for vectors in (False, True):
                    found = {
                        query: ranked(index, judged.texts[query], plan if vectors else replace(plan, vectors=()))
                        for query, plan in plans.items()
                    }
                    means.append(evaluate(Run("run", found), judged.qrels, ("nDCG@10",)).means["nDCG@10"])
                shown = " | ".join(f"{mean:.4f}" for mean in means)
                print(f"| {name} | {trial} | {changed} | {shown} |", flush=True)


def ranked(index: Index, text: str, plan: Plan) -> ScoredIds:
    """Return the first papers of a search by a plan, as any search ranks them."""
    return first_of(rank_papers(SearchState(index, SearchRequest(text[:MAX_QUERY]), plan), Clock()), DEPTH)


def verbatim(index: Index, text: str, encoder: TextEncoder) -> Plan:
    return make_plan(index, SearchRequest(text[:MAX_QUERY], verbatim=True), encoder)


def spelled(plan: Plan, index: Index, kinds: Sequence[str], encoder: TextEncoder) -> Plan:
    """Return a plan with other spellings of some kinds; the same if it has none."""
    if "corrected" in kinds:
        looked = look_up_words(index, plan.words)
        corrected = looked if foreign_language(looked, index.schema.language) else correct(index, looked)
        if corrected.changes:
            plan = verbatim(index, corrected.words, encoder)
    forms = long_forms(index, plan.words) if "acronyms" in kinds else {}
    plain, notions = expand(plan.words, index.schema.language, kinds, forms)
    return replace(plan, plain=plain, notions=notions) if notions else plan


if __name__ == "__main__":
    main()
