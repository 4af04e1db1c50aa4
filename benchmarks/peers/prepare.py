"""What all peers get: papers, vectors and questions, and the exact answers to compare theirs with."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import claims, pubmed_rows
from benchmarks.peers.base import WINDOW, Row, fused, stems
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import DEFAULT_MODEL

ENCODED = 3_000
"""Papers whose vectors are made by the model; the others' are these, disturbed. Encoding all takes ten minutes."""

NOISE = 0.5
"""Length of the disturbance: a vector and its disturbed copy have a cosine of 0.89, as two papers on one subject."""

K1, B = 1.2, 0.75


def prepare(folder: Path, count: int, questions: int) -> None:
    """Write papers of PubMed and claims of SciFact, with vectors, and the exact answers, unless they are there."""
    if (folder / "exact.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = pubmed_rows()
    papers = [
        Row(str(number), row["title"], row["abstract"] or "", int(row["year"] or 0) or None, row["journal"] or "")
        for number, row in ((number, rows[number % len(rows)]) for number in range(count))
    ]
    texts = claims(questions)
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=folder)
    encoded = encoder.encode([encoder.card.text(paper.title, paper.abstract) for paper in papers[:ENCODED]])
    vectors = disturbed(encoded, count)
    asked = encoder.encode(texts, Format.QRY)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "questions.npy", asked)
    (folder / "papers.json").write_text(json.dumps(papers))
    (folder / "questions.json").write_text(json.dumps(texts))
    (folder / "exact.json").write_text(json.dumps(exact(papers, vectors, texts, asked)))


def disturbed(vectors: np.ndarray, count: int) -> np.ndarray:
    """Repeat unit vectors up to a number of them, each repetition with noise of its own."""
    draw = np.random.default_rng(0)
    repeated = vectors[np.arange(count) % len(vectors)].astype(np.float32)
    noise = draw.standard_normal((max(count - len(vectors), 0), vectors.shape[1]), dtype=np.float32)
    repeated[len(vectors) :] += NOISE * noise / np.sqrt(np.float32(vectors.shape[1]))
    return repeated / np.linalg.norm(repeated, axis=1, keepdims=True)


def exact(
    papers: Sequence[Row], vectors: np.ndarray, texts: Sequence[str], asked: np.ndarray
) -> list[dict[str, object]]:
    """Return for each question the ids of the page, and how often each venue is among the papers with one of its words.

    Words are scored by BM25 as Lucene does (Robertson & Zaragoza 2009, with an idf that is never negative) over title
    and abstract together; vectors are all compared.
    """
    postings: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    lengths = np.empty(len(papers))
    for number, paper in enumerate(papers):
        counts = Counter(stems(paper.text))
        lengths[number] = counts.total()
        for stem, times in counts.items():
            postings[stem][0].append(number)
            postings[stem][1].append(times)
    norms = K1 * (1 - B + B * lengths / lengths.mean())
    answers: list[dict[str, object]] = []
    for text, vector in zip(texts, asked, strict=True):
        scores = np.zeros(len(papers))
        for stem, asked_times in Counter(stems(text)).items():
            numbers, times = (np.array(values, np.int64) for values in postings[stem])
            idf = math.log(1 + (len(papers) - len(numbers) + 0.5) / (len(numbers) + 0.5))
            scores[numbers] += asked_times * idf * times / (times + norms[numbers])
        lexical = [number for number in np.argsort(-scores, kind="stable")[:WINDOW] if scores[number] > 0]
        nearest = np.argsort(-(vectors @ vector), kind="stable")[:WINDOW]
        page = fused(*([papers[number].id for number in leg] for leg in (lexical, nearest)))
        venues = Counter(papers[number].venue for number in np.flatnonzero(scores))
        answers.append({"page": page, "venue": venues.most_common(1)})
    return answers
