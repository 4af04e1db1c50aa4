"""The sets of papers on which formats are measured, and whether recipes for CLF and RGN train on their collection."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import data_dir
from benchmarks.tags.papers import rows_of
from eval.frozen import read_frozen, title_key
from eval.probes.nested import Targets, class_targets, label_targets, number_targets

MOST = 1_500
"""Most papers of a source: they are drawn."""

REVIEWS = ("NSAIDS", "OralHypoglycemics", "Estrogens", "UrinaryIncontinence")
"""Reviews of at most 600 candidates with about 40 or more included papers."""

VENUES = {
    "EMNLP": "^Proceedings.*Empirical Methods",
    "COLING": "International Conference on Computational Linguistics",
    "LREC": "Language Resources and Evaluation",
    "NAACL": "^Proceedings.*North American Chapter",
    "EACL": "^Proceedings.*European Chapter",
    "SemEval": "Semantic Evaluation",
    "WMT": "Machine Translation",
    "BioNLP": "Bio|Clinical",
    "Findings": "^Findings",
    "TACL": "^Transactions",
    "ACL": "^Proceedings.*Annual Meeting of the Association for Computational Linguistics",
}
"""Names of a venue in the ACL Anthology; the first that fits counts. The recipe of RGN trains on some of these papers,
which the file of conferences holds too."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class PaperSet:
    """Papers of a source with what a probe predicts of them.

    Attributes:
        name: For tables.
        source: Where its papers come from: each paper has one set of vectors.
        seen: The format whose recipe trains on other papers of that collection; empty if none does.
        rows: Their places among the papers of the source.
        targets: What they have.
    """

    name: str
    source: str
    seen: str
    rows: np.ndarray
    targets: Targets


def sources() -> dict[str, list[Row]]:
    """Return the papers of each source, at most `MOST`, always the same ones."""
    frozen = read_frozen().titles

    def kept(name: str, test: Callable[[Row], object]) -> list[Row]:
        return _drawn([row for row in rows_of(name) if row["title"] and row.get("abstract") and test(row)])

    def held(row: Row) -> bool:
        return title_key(row["title"]) in frozen

    return {
        "ohsumed": kept("ohsumed", lambda _: True),
        "cord19": _cord19(),
        "acl": kept("acl", lambda row: row["year"] and _venue(row)),
        "reviews": list(_candidates()),
        "synergy": kept("synergy", lambda row: row["year"] and row["cited_by"] is not None),
        "arxiv": kept("arxiv", held),
        "pubmed": kept("pubmed", held),
        "conf": kept("conf", lambda row: held(row) and row["year"] and (row["citations"] or -1) >= 0),
    }


def paper_sets(papers: dict[str, list[Row]]) -> Iterator[PaperSet]:
    """Yield the sets: first those of collections that no training of the format saw."""
    yield classes_of("OHSUMED, 23 classes", "ohsumed", "", papers, lambda row: row["label"], 20)
    yield classes_of("CORD-19, journals", "cord19", "", papers, lambda row: row["journal"], 12)
    yield classes_of("ACL Anthology, venues", "acl", "rgn", papers, _venue, 12)
    yield labels_of("Systematic reviews, inclusion", "reviews", "", papers, lambda row: row["reviews"], 20)
    yield classes_of("Conferences, venues", "conf", "rgn", papers, lambda row: row["venue"], 12)
    yield classes_of("arXiv, first categories", "arxiv", "clf", papers, lambda row: row["categories"][0], 12)
    yield labels_of("arXiv, all categories", "arxiv", "clf", papers, lambda row: row["categories"], 20)
    yield classes_of("PubMed, journals", "pubmed", "clf", papers, lambda row: row["journal"], 12)
    yield labels_of("PubMed, MeSH headings", "pubmed", "clf", papers, lambda row: row["mesh"] or None, 20)
    yield ranks_of("ACL Anthology, year within venue", "acl", "rgn", papers, lambda row: row["year"], _venue)
    yield ranks_of(
        "SYNERGY, citations within review and decade",
        "synergy",
        "clf",
        papers,
        lambda row: row["cited_by"],
        lambda row: f"{row['dataset']} {str(row['year'])[:3]}",
    )
    yield ranks_of(
        "SYNERGY, year within review", "synergy", "clf", papers, lambda row: row["year"], lambda row: row["dataset"]
    )
    yield ranks_of(
        "CORD-19, year within journal",
        "cord19",
        "",
        papers,
        lambda row: row["publish_time"][:4],
        lambda row: row["journal"],
    )
    yield ranks_of(
        "Conferences, year within venue", "conf", "rgn", papers, lambda row: row["year"], lambda row: row["venue"]
    )
    yield ranks_of(
        "Conferences, citations within venue and year",
        "conf",
        "rgn",
        papers,
        lambda row: row["citations"],
        lambda row: f"{row['venue']} {row['year']}",
    )


def classes_of(
    name: str, source: str, seen: str, papers: dict[str, list[Row]], own: Callable[[Row], str], fewest: int
) -> PaperSet:
    """Return papers of classes that `fewest` papers or more have."""
    classes = [own(row) for row in papers[source]]
    sizes = Counter(filter(None, classes))
    rows = [row for row, one in enumerate(classes) if sizes[one] >= fewest]
    return PaperSet(name, source, seen, np.array(rows), class_targets([classes[row] for row in rows]))


def labels_of(
    name: str,
    source: str,
    seen: str,
    papers: dict[str, list[Row]],
    own: Callable[[Row], Sequence[str] | None],
    fewest: int,
) -> PaperSet:
    """Return papers with labels that `fewest` papers or more have; those whose labels are unknown are left out."""
    labelled = {row: found for row, paper in enumerate(papers[source]) if (found := own(paper)) is not None}
    rows, labels = list(labelled), list(labelled.values())
    sizes = Counter(label for one in labels for label in set(one))
    names = sorted(label for label, size in sizes.items() if size >= fewest)
    return PaperSet(name, source, seen, np.array(rows), label_targets(labels, names))


def ranks_of(
    name: str,
    source: str,
    seen: str,
    papers: dict[str, list[Row]],
    own: Callable[[Row], Any],
    group: Callable[[Row], str],
    fewest: int = 15,
) -> PaperSet:
    """Return papers with the share of their group that has a lower number."""
    from scipy.stats import rankdata

    members: dict[str, list[int]] = {}
    for row, paper in enumerate(papers[source]):
        members.setdefault(group(paper), []).append(row)
    kept = {key: rows for key, rows in members.items() if key and len(rows) >= fewest}
    shares = {
        row: share
        for rows in kept.values()
        for row, share in zip(
            rows, (rankdata([float(own(papers[source][row])) for row in rows]) - 0.5) / len(rows), strict=True
        )
    }
    rows = sorted(shares)
    return PaperSet(name, source, seen, np.array(rows), number_targets([shares[row] for row in rows]))


def _drawn(rows: list[Row]) -> list[Row]:
    unique = list({row["id"]: row for row in rows}.values())
    random.Random(0).shuffle(unique)
    return unique[:MOST]


def _venue(row: Row) -> str:
    return next((name for name, form in VENUES.items() if re.search(form, row["booktitle"] or "")), "")


def _cord19() -> list[Row]:
    with (data_dir() / "corpora" / "cord19-sample" / "metadata.csv").open(encoding="utf-8", newline="") as file:
        rows = [{**row, "id": row["cord_uid"]} for row in csv.DictReader(file) if row["title"] and row["abstract"]]
    sizes = Counter(row["journal"] for row in rows)
    rows = [row for row in rows if sizes[row["journal"]] >= 12]
    return _drawn(rows)


def _candidates() -> Iterator[Row]:
    from eval.screening import read_reviews

    for review in read_reviews(data_dir() / "eval" / "systematic-reviews.tar.xz").reviews:
        for text, included in zip(review.papers, review.included, strict=True):
            if review.name in REVIEWS and text.title and text.abstract:
                yield {
                    "id": text.id,
                    "title": text.title,
                    "abstract": text.abstract,
                    "reviews": [review.name][:included],
                }
