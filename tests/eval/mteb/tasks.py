"""Tasks for the real mteb whose data are in memory; what they need is imported when they are made."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression

from tests.tiny import papers

PAPERS = papers(40, seed=3)
# Queries are papers of the corpus, whose own paper isn't relevant to them; one is blank, one has nothing relevant.
QUERIES = {paper.id: paper.title for paper in PAPERS[:10]} | {"blank": " "}
GAINS = {query: {PAPERS[row + 5].id: 2, PAPERS[row + 9].id: 1, query: 0} for row, query in enumerate(QUERIES)}
GAINS[PAPERS[3].id] = {PAPERS[9].id: 0}
CANDIDATES = {query: [paper.id for paper in PAPERS[row : row + 12]] for row, query in enumerate(QUERIES)}


def _metadata(name, kind, main_score):
    from mteb.abstasks.task_metadata import TaskMetadata

    return TaskMetadata(
        name=name,
        description="Made in a test.",
        dataset={"path": "none", "revision": "1"},
        type=kind,
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main_score,
    )


def retrieval_task(kind="Retrieval", *, drop=False, candidates=None, instruction=""):
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval

    class Tiny(AbsTaskRetrieval):
        ignore_identical_ids = drop

        def load_data(self, num_proc=None, **kwargs):
            more = {"instruction": instruction} if instruction else {}
            split = {
                "corpus": Dataset.from_list([{"id": p.id, "title": p.title, "text": p.abstract} for p in PAPERS]),
                "queries": Dataset.from_list([{"id": query, "text": text} | more for query, text in QUERIES.items()]),
                "relevant_docs": {query: dict(judged) for query, judged in GAINS.items()},
                "top_ranked": candidates,
            }
            self.dataset, self.data_loaded = {"default": {"test": split}}, True

    Tiny.metadata = _metadata(f"Tiny{kind}", kind, "ndcg_at_10")
    return Tiny()


def classification_task(train, test):
    from datasets import Dataset, DatasetDict
    from mteb.abstasks import AbsTaskClassification

    class Tiny(AbsTaskClassification):
        samples_per_label = 100
        n_experiments = 1
        evaluator_model = LogisticRegression(max_iter=1000)

        def load_data(self, num_proc=None, **kwargs):
            splits = {"train": train, "test": test}
            self.dataset = DatasetDict({name: Dataset.from_list(rows) for name, rows in splits.items()})
            self.data_loaded = True

    Tiny.metadata = _metadata("TinyClassification", "Classification", "accuracy")
    return Tiny()
