"""Finds for each query the vector that ranks papers as the hybrid search does. The papers keep their vectors.

From a query's own vector some steps go down the gradient of the Kullback-Leibler divergence between the chances that a
teacher and the vectors give to its candidates. Of scores q.d / t it is the difference between the papers' mean under
the student's chances and their mean under the teacher's, over t. So it is feedback from papers (Rocchio 1971) by a
teacher's scores; the trained model then needs no papers at query time.
"""

from __future__ import annotations

from collections.abc import Iterator

from corpora.lazy import np
from encoders.models.formats import Format
from search_plugin.fusion.fusions import get_fusion
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, drawn_papers
from training.data.builders.distilled import leg_of
from training.data.builders.whitened import DIGITS
from training.data.pool import best, by_vectors, by_words, judged, read_pool
from training.data.queries import OPTIONS


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Find the vector of each query; yield the query as a title, and its vector in `label`.

    The source holds papers, of which queries are made, or judged queries (types `ir` and `triplet`). Options: those of
    `pseudo-queries`; `most` papers are drawn, 0 for all. The teacher is the mean of BM25's and the base's scores, each
    scaled to 0 to 1 over the best `depth` papers of both. Its chances are the softmax over `teacher_temperature`, of
    which a share `answer` goes to the paper that the query was made of; the vectors' are those of the cosine over
    `temperature`. `steps` of length `rate` are taken.
    """
    fuse, pool = get_fusion("minmax"), read_pool(drawn_papers(source, int(options["most"])), options)
    encoder = source.model(precision="int8")
    base = by_vectors(encoder, pool)
    papers, depth = base.vectors, int(options["depth"])
    assert papers is not None  # noqa: S101 - a judge by vectors has them
    for query, (words, cosines) in judged(pool, [by_words(pool), base]):
        if not isinstance(query.content, str):
            source.left_out["its query is a paper"] += 1
            continue
        rows = sorted({*query.answers, *best(words, depth), *best(cosines, depth)})
        fused = {int(one.id): one.score for one in fuse({"0": leg_of(words, rows), "1": leg_of(cosines, rows)}, {})}
        answers = np.isin(rows, query.answers) / len(query.answers)
        teacher = _chances(np.array([fused[row] for row in rows]), options["teacher_temperature"])
        teacher = options["answer"] * answers + (1 - options["answer"]) * teacher
        own = encoder.encode([encoder.card.text(query.content, None)], Format.QRY)[0]
        made = moved(own, papers[rows], teacher, options)
        yield Made((query.key,), {"title": query.content, "label": [round(float(one), DIGITS) for one in made]})


def moved(query: np.ndarray, papers: np.ndarray, teacher: np.ndarray, options: BuilderOptions) -> np.ndarray:
    """Return a query's vector after some steps down the divergence, float64 (dimension,), of unit length.

    From its own vector (dimension,), those of its candidates (candidates, dimension), and the teacher's chances
    (candidates,).
    """
    vector: np.ndarray
    vector, papers = (one / np.linalg.norm(one, axis=-1, keepdims=True) for one in (query.astype(np.float64), papers))
    for _ in range(int(options["steps"])):
        vector = vector + options["rate"] * (teacher - _chances(papers @ vector, options["temperature"])) @ papers
        vector /= np.linalg.norm(vector)
    return vector


def _chances(scores: np.ndarray, temperature: float) -> np.ndarray:
    raised = np.exp((scores - scores.max()) / temperature)
    found: np.ndarray = raised / raised.sum()
    return found


BUILDER = Builder(
    "vectors",
    {
        **OPTIONS,
        "most": 0,
        "depth": 60,
        "teacher_temperature": 0.07,
        "temperature": 0.05,
        "answer": 0.3,
        "steps": 5,
        "rate": 0.2,
    },
    build,
)
