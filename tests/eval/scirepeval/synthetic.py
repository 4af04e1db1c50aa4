"""A made benchmark in the hub's layout, with a task of every kind and all that is odd in real ones, from a seed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.eval.scirepeval.worlds import write_jsonl

DIMENSION = 12
CLASSES = ("astronomy", "biology", "chemistry", "drama")


def make_benchmark(root: Path, write) -> tuple[list[dict], dict[str, np.ndarray]]:
    """Return the lines of a task file and a vector for each id.

    Args:
        root: Folder of the two data sets.
        write: Takes a file's path without ending and its rows.
    """
    world = _World(np.random.default_rng(2023), root, write)
    tasks = [
        world.classes("binary", ["f1", "accuracy", "precision", "recall"], 2, [(16, 5), (40, 50)]),
        world.classes("classes", ["f1_macro", "f1_micro", "f1_weighted", "recall_macro"], 4, [(24, 4)]),
        world.several_labels(),
        world.numbers(),
        world.papers_like_papers(),
        world.simple_format(),
        world.search(),
        world.reviewers(),
    ]
    return tasks, world.vectors


class _World:
    def __init__(self, draw, root, write):
        self.draw, self.root, self.write, self.vectors = draw, root, write, {}

    def _papers(self, kind, count, place=None):
        """Draw papers around a place each; every 29th is in no table of papers, and so has no vector."""
        spread = self.draw.standard_normal((count, DIMENSION))
        ids = [f"{kind}{number}" for number in range(count)]
        self.vectors |= dict(zip(ids, (spread + (0 if place is None else place)).astype(np.float32), strict=True))
        return ids

    def _rows(self, ids, *, gaps=True):
        kept = [name for number, name in enumerate(ids) if not gaps or number % 29 != 28]
        rows = [
            {"doc_id": name, "title": f"Title {name}", "abstract": f"On {name}." * (len(name) % 2)} for name in kept
        ]
        return [*rows, rows[0]]

    def _line(self, name, kind, config, metrics, **more):
        hub = {
            part: {"name": f"{self.root}/{folder}", "config": config}
            for part, folder in (("meta", "scirepeval"), ("test", "scirepeval_test"))
        }
        return {"name": name, "type": kind, "data": {**hub, **more.pop("data", {})}, "metrics": metrics, **more}

    def _supervised(self, config, ids, labels, trained):
        self.write(self.root / "scirepeval" / config / "evaluation", self._rows(ids))
        rows = [{"paper_id": name, "label": label} for name, label in zip(ids, labels, strict=True)]
        self.write(self.root / "scirepeval_test" / config / "train", rows[:trained])
        self.write(self.root / "scirepeval_test" / config / "test", rows[trained:])

    def _ranked(self, config, judged, split="test"):
        rows = [{"query_id": query, "cand_id": name, "score": int(gain)} for query, name, gain in judged]
        self.write(self.root / "scirepeval_test" / config / split, rows)

    def classes(self, config, metrics, count, few):
        labels = self.draw.integers(count, size=200)
        ids = self._papers(config, 200, np.eye(DIMENSION)[labels] * 1.5)
        self._supervised(config, ids, labels.tolist() if count == 2 else [CLASSES[one] for one in labels], 120)
        shots = [{"sample_size": size, "iterations": runs} for size, runs in few]
        return self._line(config, "classification", config, metrics, few_shot=shots)

    def several_labels(self):
        labels = self.draw.integers(2, size=(200, 4))
        ids = self._papers("labels", 200, np.pad(labels * 2.0, ((0, 0), (0, DIMENSION - 4))))
        self._supervised("labels", ids, labels.tolist(), 130)
        shots = [{"sample_size": 10, "iterations": 3}]
        metrics = ["f1_macro", "f1_micro", "precision_weighted"]
        return self._line("labels", "classification", "labels", metrics, multi_label=True, few_shot=shots)

    def numbers(self):
        ids = self._papers("number", 150)
        noise = self.draw.standard_normal(150)
        labels = [round(float(self.vectors[name][:3].sum() + one), 1) for name, one in zip(ids, noise, strict=True)]
        self._supervised("numbers", ids, labels, 100)
        return self._line("numbers", "regression", "numbers", ["kendalltau", "pearsonr"])

    def _judge(self, queries, papers):
        """Judge 20 papers for each query, the first again with another grade; none is relevant to the last query."""
        judged = []
        for query in queries:
            names = self.draw.choice(papers, size=20, replace=False).tolist()
            near = [np.linalg.norm(self.vectors[query] - self.vectors[name]) for name in names]
            grades = np.digitize(np.array(near) + self.draw.standard_normal(20), [4.0, 5.0])
            gains = (2 - grades) * (query != queries[-1])
            judged += [(query, name, gain) for name, gain in zip(names, gains, strict=True)]
            judged.append((query, names[0], 2 - gains[0]))
        return judged

    def _alike(self, ids):
        """Give some papers the vector of another, so that their distances tie."""
        for number in range(0, len(ids) - 1, 5):
            self.vectors[ids[number]] = self.vectors[ids[number + 1]]

    def papers_like_papers(self):
        queries, papers = self._papers("seed", 30), self._papers("near", 80)
        self._alike(papers)
        # A query that is a candidate too.
        judged = [*self._judge(queries, papers), ("seed0", "seed1", 2)]
        texts = {row["doc_id"]: row for row in self._rows([*queries, *papers])}
        rows = []
        for query in queries:
            if query in texts:
                found = dict.fromkeys(name for asked, name, _ in judged if asked == query and name in texts)
                rows.append({"doc_id": query, "query": texts[query], "candidates": [texts[name] for name in found]})
        self.write(self.root / "scirepeval" / "proximity" / "evaluation", rows)
        self._ranked("proximity", judged)
        return self._line("proximity", "proximity", "proximity", ["map", "ndcg", "P_5", "recall_10"])

    def simple_format(self):
        papers = self._papers("view", 100)
        self._alike(papers)
        self.write(self.root / "scirepeval" / "simple" / "evaluation", self._rows(papers))
        self._ranked("simple", self._judge(papers[:30], papers))
        return self._line("simple", "proximity", "simple", ["map", "ndcg"], data={"simple_format": True})

    def search(self):
        queries, papers = self._papers("words", 25), self._papers("hit", 70)
        judged = [*self._judge(queries, papers), ("words3", "words4", 1)]
        texts = {row["doc_id"]: {**row, "venue": "V", "year": 2020} for row in self._rows(papers)}
        rows = []
        for query in queries:
            found = [texts[name] for asked, name, _ in judged if asked == query and name in texts]
            rows.append({"doc_id": query, "query": f"what of {query}", "candidates": found})
        self.write(self.root / "scirepeval" / "search" / "evaluation", rows)
        self._ranked("search", judged)
        fields = ["title", "abstract", "venue", "year"]
        return self._line("search", "adhoc_search", "search", ["ndcg", "recip_rank", "ndcg_cut_10"], fields=fields)

    def reviewers(self):
        submissions, papers = self._papers("submission", 20), self._papers("written", 90)
        # The original stops at a submission or a reviewer's paper without a vector.
        rows = self._rows([*submissions, *papers], gaps=False)
        self.write(self.root / "scirepeval" / "matching" / "evaluation", rows)
        profiles = {
            f"reviewer{number}": self.draw.choice(papers, size=1 + number % 6, replace=False).tolist()
            for number in range(25)
        }
        rows = [{"r_id": name, "papers": own} for name, own in profiles.items()]
        self.write(self.root / "scirepeval_test" / "reviewers" / "metadata", rows)
        judged = []
        for query in submissions:
            for name in self.draw.choice([*profiles, "nobody"], size=15, replace=False).tolist():
                near = max(
                    (-np.linalg.norm(self.vectors[query] - self.vectors[p]) for p in profiles.get(name, ())), default=-9
                )
                judged.append((query, name, np.digitize(near + self.draw.standard_normal(), [-5.0, -4.0])))
        self._ranked("matching", [(query, name, gain > 1) for query, name, gain in judged[:-15]], "test_hard")
        self._ranked("matching", [(query, name, gain > 0) for query, name, gain in judged], "test_soft")
        reviewers = {"name": f"{self.root}/scirepeval_test", "config": "reviewers"}
        name = "Paper-Reviewer Matching"  # the original goes by it
        return self._line(name, "proximity", "matching", ["P_5", "P_10"], data={"reviewers": reviewers})


def write_table(path: Path, rows) -> None:
    """Write a table as JSON lines."""
    write_jsonl(path.with_suffix(".jsonl"), rows)
