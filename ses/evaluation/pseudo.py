"""Queries made of a user's own papers, for those who have no judged ones: a sentence or title, and its paper.

The text of the query is taken out of its paper, and the same part out of every other paper: of conclusions each paper's
concluding sentence, of titles each paper's title. So the paper holds no copy of the query, and no model can recognize
it by a missing part. Other papers may answer the query too; they count as wrong. So the figures are too low, for all
models alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import require

if TYPE_CHECKING:
    from eval.embedder import Text
    from ses.evaluation.collection import Collection
    from ses.settings import Settings

Pseudo = Literal["pseudo", "titles"]

_PARTS = {"pseudo": "conclusions", "titles": "titles"}
"""The kind of `training.data.queries` that each is."""

SPLIT = "pseudo"
"""Name of the one split of such a folder."""

MOST_QUERIES = 300
MOST_PAPERS = 5_000


def pseudo_collection(
    corpus: str,
    paths: Sequence[Path],
    kind: Pseudo,
    settings: Settings,
    *,
    queries: int = MOST_QUERIES,
    papers: int = MOST_PAPERS,
    seed: int = 0,
) -> Collection:
    """Return a collection of papers with queries made of them, as a folder in BEIR's form in the data folder.

    Args:
        corpus: Name of the papers' reader.
        paths: Files or folders that it reads.
        kind: The part of a paper that is its query.
        settings: Settings that name the data folder.
        queries: Most queries; which papers give one is drawn.
        papers: Most papers; they are drawn, the papers of the queries first.
        seed: Seed of the draws.

    Returns:
        The collection; an older folder of the same papers and draws is replaced.

    Raises:
        InputError: If the papers can't be read, or fewer than two of them give a query.
        UnavailableError: If the folder can't be written.
    """
    from eval.files.text import write_json_lines, write_lines
    from eval.retrieval.beir import JudgedQueries
    from eval.trec.judgments import Qrels
    from ses.evaluation.collection import Collection, beir_collection, in_memory

    require(paths[0].exists(), f"There is no file or folder {paths[0]}", "give the place of the papers")
    name = paths[0].resolve().name
    read = Collection(name, corpus, tuple(paths), JudgedQueries({}, Qrels({}), ()), tuple(paths), {})
    every, _ = in_memory(read)
    asked = dict(islice(_queries(every, kind, seed), queries))
    require(
        len(asked) >= 2,
        f"Only {len(asked)} of {len(every):,} papers give a query of their {_PARTS[kind]}",
        "give papers with abstracts of several sentences, or judged queries",
    )
    kept = sorted(every, key=lambda paper: (paper.id not in asked, _drawn(seed, paper.id)))[:papers]
    facts = f"{corpus} {kind} {queries} {papers} {seed} " + " ".join(str(path.resolve()) for path in paths)
    key = hashlib.sha256(facts.encode()).hexdigest()[:8]
    folder = settings.data_dir / "pseudo-queries" / f"{kind}-{key}-{name}"
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rest = ({"_id": one.id, **without(one, kind)} for one in sorted(kept, key=lambda paper: paper.id))
    write_json_lines(folder / "corpus.jsonl", rest)
    write_json_lines(folder / "queries.jsonl", ({"_id": f"q-{key}", "text": text} for key, text in asked.items()))
    rows = (f"q-{key}\t{key}\t1" for key in asked)
    write_lines(folder / "qrels" / f"{SPLIT}.tsv", ["query-id\tcorpus-id\tscore", *rows])
    return beir_collection(str(folder), SPLIT, settings)


def without(paper: Text, kind: Pseudo) -> dict[str, str]:
    """Return title and text of a paper without the part that is a query; unchanged if it has no such part."""
    from training.data.queries import shown

    found = shown(_PARTS[kind], {"title": paper.title, "abstract": paper.abstract or ""})
    return {"title": str(found.get("title", "")), "text": str(found.get("abstract", ""))}


def _queries(papers: Sequence[Text], kind: Pseudo, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the id and the query of each paper that gives one, in the order in which they are drawn; no query twice."""
    from training.data.queries import KINDS, OPTIONS, folded, query_of

    options = {**OPTIONS, **dict.fromkeys(KINDS, 0.0), _PARTS[kind]: 1.0}
    seen = set()
    for paper in sorted(papers, key=lambda paper: _drawn(seed, paper.id)):
        text = {"title": paper.title, "abstract": paper.abstract or ""}
        made = query_of({"id": paper.id, **text}, text, options, seed)
        if made and (words := folded(str(made.asked))) not in seen:
            seen.add(words)
            yield paper.id, str(made.asked)


def _drawn(seed: int, key: str) -> float:
    from training.data.builders.base import drawn

    return drawn(seed, f"pseudo\t{key}")
