"""Papers that share a fine-grained topic, against papers of their venue that share none (UniPR sections 3.1, 3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made
from training.data.builders.graph import PaperRows
from training.data.records import Related, draw_any, names_in


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Yield triplets of a paper, one that shares a fine-grained topic with it, and one that does not.

    Options: `field` holds the topics. A topic is fine-grained if at most the share `widest` of the papers has it.
    Topics of the form [name, level, ...] must also have `level` or a deeper one (UniPR takes layer 3 and deeper).
    `pairs` are drawn of a paper. The negative has the same `related` (a field such as the venue) and no fine-grained
    topic in common, or else is any such paper.
    """
    papers, held = PaperRows(), []
    for paper in source.papers():
        papers.add(paper, source.text_of(paper))
        held.append(names_in(paper, options["field"], options["level"]))
    counts = Counter(name for names in held for name in names)
    fine = [[name for name in names if counts[name] <= options["widest"] * len(held)] for names in held]
    same_topic = Related([{"id": key, "topics": names} for key, names in zip(papers.ids, fine, strict=True)], "topics")
    related = Related(source.papers(), options["related"])
    texts = papers.texts
    for row, text in enumerate(texts):
        for number in range(int(options["pairs"])):
            seed = f"{source.seed}\t{papers.ids[row]}\t{number}"

            def apart(other: int, row: int = row) -> bool:
                return bool(texts[other]) and not set(fine[other]) & set(fine[row])

            near = same_topic.draw(row, seed, lambda other: bool(texts[other])) if text else None
            far = related.draw(row, seed, apart) if near is not None else None
            if far is None and near is not None:
                far = draw_any(len(texts), seed, apart)
            if near is None or far is None:
                source.left_out["no paper shares a fine-grained topic" if near is None else "no paper of others"] += 1
                continue
            yield papers.triplet(row, near, far)


BUILDER = Builder("triplet", {"field": "topics", "level": -1, "widest": 0.01, "pairs": 1, "related": "venue"}, build)
