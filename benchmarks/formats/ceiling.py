"""What a format could gain: words beside the base's vectors, and the base beside CLF, on papers to develop with.

The papers are of PubMed and conferences, none of them frozen. Needs SES_TEST_DATA and the extra eval.
MODEL is the folder of a model with CLF.
Run: python -m benchmarks.formats.ceiling FOLDER MODEL
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.formats.__main__ import shown, vectors_of
from benchmarks.formats.sets import PaperSet, Row, classes_of, ranks_of
from benchmarks.tags.papers import rows_of
from eval.formats import compare_formats
from eval.frozen import read_frozen, title_key
from eval.statistics.interval import value_of

MOST = 500
JOURNALS = 20


def main() -> None:
    papers = {"development-pubmed": _pubmed(), "development-conf": _conferences()}
    folder, model = sys.argv[1:]
    made = {source: _mixtures(Path(folder), source, rows, model) for source, rows in papers.items()}
    print("| papers | number | measure | PRX | " + " | ".join(list(made["development-conf"])[1:]) + " |")
    print("| --- | ---: | --- | ---: |" + " --- |" * 4)
    for one in _sets(papers):
        found = compare_formats(
            {name: matrix[one.rows] for name, matrix in made[one.source].items()}, one.targets, shots=(4,)
        )
        for measure, base in found.outcomes["prx"].cells.items():
            gains = " | ".join(shown(gain[measure]) for gain in found.gains.values())
            print(f"| {one.name} | {len(one.rows)} | {measure} | {value_of(base):.3f} | {gains} |", flush=True)


def _sets(papers: dict[str, list[Row]]) -> tuple[PaperSet, ...]:
    conferences = "development-conf"
    return (
        classes_of("PubMed, journals", "development-pubmed", "", papers, lambda row: row["journal"], 10),
        classes_of("Conferences, venues", conferences, "", papers, lambda row: row["venue"], 12),
        ranks_of(
            "Conferences, year within venue",
            conferences,
            "",
            papers,
            lambda row: row["year"],
            lambda row: row["venue"],
        ),
    )


def _mixtures(folder: Path, source: str, rows: list[Row], model: str) -> dict[str, np.ndarray]:
    """Return vectors of the papers: the base's, CLF's, words by TF-IDF, base and words, and base and CLF reduced."""
    from sklearn.decomposition import PCA
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = vectors_of(folder, source, rows, model)
    base, own = made["prx"].astype(np.float64), made["clf"].astype(np.float64)
    counter = TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.3, stop_words="english")
    words = counter.fit_transform([f"{row['title']} {row['abstract']}" for row in rows]).toarray()
    both = PCA(base.shape[1], random_state=0).fit_transform(np.hstack([base, own]))
    return {"prx": base, "CLF": own, "words": words, "base and words": np.hstack([base, words]), "base and CLF": both}


def _pubmed() -> list[Row]:
    rows = _kept("pubmed")
    largest = {name for name, _ in Counter(row["journal"] for row in rows).most_common(JOURNALS)}
    return _drawn([row for row in rows if row["journal"] in largest])


def _conferences() -> list[Row]:
    return _drawn([row for row in _kept("conf") if row["year"] and (row["citations"] or -1) >= 0])


def _kept(name: str) -> list[Row]:
    frozen = read_frozen().titles
    rows = [row for row in rows_of(name) if row["title"] and row["abstract"] and title_key(row["title"]) not in frozen]
    return list({row["id"]: row for row in rows}.values())


def _drawn(rows: list[Row]) -> list[Row]:
    random.Random(1).shuffle(rows)
    return rows[:MOST]


if __name__ == "__main__":
    main()
