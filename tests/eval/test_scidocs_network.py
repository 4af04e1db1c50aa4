"""SciDocs' network on invented clicks: its features and loss by the original's program, its training by numpy."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from eval.scidocs import SciDocs, evaluate_scidocs
from eval.scidocs_network import FEATURES, PaperFacts, Training, features, pairs_of, read_facts, train
from tests.commands import ses
from tests.eval.vectors_by_hand import embedder, write_vectors

PROPENSITIES = [0.5, 0.2, 0.15, 0.1, 0.05]
PAPERS = {
    "q": ("Graph kernels, revisited", "12", ["a", "r1", "r2", "c"], ["b", "c1"], 2012),
    "a": ("Kernels of Graph and text", "23", ["r1"], ["q", "c1", "c2"], 2001),
    "b": ("", "", ["q", "r2", "r3"], [], None),
    "c": ("Deep nets: a survey", "12", [], ["c1", "b"], "2019"),
    "old": ("graph kernels", "9", ["q"], ["c3"], 1970),
}
SHOWN = ["a", "b", "c", "old", "unknown"]
COSINES = np.array([0.8, 0.4**0.5, 0, 0, 0])
# What `simclick_data_reader.py` and `simpaper_recommender.py` of allenai/scidocs made of these papers.
ORIGINAL_FEATURES = [
    [1 / 3, 0, 0.125, 0.8, 0.25, 0.25, 0, 1, 0.95, 0.55, 0.1386294361],
    [0, 0, 0, 0.632455532, 0, 1 / 6, 1, 0, 0, 0, 0],
    [1, 0, 0, 0, 1, 0, 0, 1, 0.05, -0.35, 0.1098612289],
    [0, 0, 0.2, 0, 0, 0, 1, 0, 1, 1, 0.0693147181],
    [0] * FEATURES,
]
ORIGINAL_LOSS = 0.9804412476
"""Of the pairs of a click on `a` and of one on `c`, for the weights of `test_loss_is_that_of_the_program`."""


def record(name, title="", authors="", references=(), cited_by=(), year=None):
    """A paper in the form of SciDocs' metadata."""
    lists = {"authors": list(authors), "references": list(references), "cited_by": list(cited_by)}
    return {"paper_id": name, "title": title, "abstract": None, "year": year, **lists}


def write_metadata(folder, papers):
    path = folder / "paper_metadata_recomm.json"
    path.write_text(json.dumps({name: record(name, *rest) for name, rest in papers.items()}))
    return path


def test_features_are_those_of_the_program(tmp_path):
    facts = read_facts(write_metadata(tmp_path, PAPERS))
    assert facts["b"] == PaperFacts(references=frozenset(["q", "r2", "r3"]))
    found = features("q", SHOWN, facts, COSINES)
    assert found == pytest.approx(np.array(ORIGINAL_FEATURES), abs=1e-9)
    # Two papers without a title share the words that stand for none, as in the program.
    assert features("unknown", ["b"], facts, COSINES[:1])[0].tolist() == [0, 0, 1, 0.8, 0, 0, 0, 0, 0, 0, 0]


class Network:
    """The network, its loss and its optimizer in numpy."""

    def __init__(self, weights):
        self.weights = [np.array(one, np.float64) for one in weights]
        self.squares = [np.zeros_like(one) for one in self.weights]
        self.steps = [np.zeros_like(one) for one in self.weights]

    def forward(self, rows):
        first, bias, second, last = self.weights
        hidden = np.maximum(rows @ first.T + bias, 0)
        return hidden, 1 / (1 + np.exp(-(hidden @ second.T + last)[..., 0]))

    def loss(self, pairs, propensities=PROPENSITIES):
        scores = self.forward(pairs)[1]
        return np.maximum(0.1 - scores[:, 0] + scores[:, 1], 0).mean() / (5 * propensities[-1] / sum(propensities))

    def learn(self, pairs):
        hidden, scores = self.forward(pairs)
        wrong = (0.1 - scores[:, 0] + scores[:, 1] > 0) / len(pairs) / (5 * PROPENSITIES[-1] / sum(PROPENSITIES))
        output = np.stack([-wrong, wrong], axis=1) * scores * (1 - scores)
        inner = output[..., None] * self.weights[2] * (hidden > 0)
        gradients = (
            np.einsum("nph,npf->hf", inner, pairs),
            inner.sum((0, 1)),
            np.einsum("np,nph->h", output, hidden)[None],
            np.array([output.sum()]),
        )
        for at, gradient in enumerate(np.clip(one, -5, 5) for one in gradients):
            self.squares[at] = 0.95 * self.squares[at] + 0.05 * gradient**2
            step = np.sqrt(self.steps[at] + 1e-6) / np.sqrt(self.squares[at] + 1e-6) * gradient
            self.steps[at] = 0.95 * self.steps[at] + 0.05 * step**2
            self.weights[at] -= step


def test_loss_is_that_of_the_program():
    rng = np.random.default_rng(3)
    first, bias, second = rng.standard_normal((11, 50)), rng.standard_normal(50), rng.standard_normal((50, 1)) / 5
    rows = [np.array(ORIGINAL_FEATURES)] * 2
    pairs = pairs_of(rows, [(0, [1, 2, 3, 4]), (2, [0, 1, 3, 4])])
    assert pairs.shape == (8, 2, 11)
    assert Network([first.T, bias, second.T, [0.0]]).loss(pairs) == pytest.approx(ORIGINAL_LOSS, abs=1e-7)


def invented_pairs(seed, count=300):
    rng = np.random.default_rng(seed)
    rows = rng.random((count, 2, FEATURES))
    rows[:, 0, 0] += 0.3  # the paper clicked on shares more authors
    return rows


@pytest.mark.torch
@pytest.mark.parametrize("validated", [False, True])
def test_training_is_that_of_numpy(validated):
    import torch

    learnt = invented_pairs(1)
    # Other clicks, on papers that share fewer authors: the loss on them is least in an early epoch.
    held = invented_pairs(2)[:, ::-1].copy() if validated else None
    found = train(learnt, held, PROPENSITIES, Training(dropout=0))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        layers = torch.nn.Linear(11, 50), torch.nn.Linear(50, 1)
        orders = [torch.randperm(len(learnt)).numpy() for _ in range(5)]
    network = Network([part.detach().numpy() for layer in layers for part in (layer.weight, layer.bias)])
    epochs = []
    for order in orders:
        for start in range(0, len(order), 128):
            network.learn(learnt[order[start : start + 128]])
        losses = [] if held is None else [network.loss(held[start : start + 128]) for start in (0, 128, 256)]
        epochs.append((np.mean(losses) if losses else 0, network.forward(learnt[:, 0])[1]))
    wanted = min(epochs, key=lambda epoch: epoch[0])[1] if validated else epochs[-1][1]
    assert found(learnt[:, 0]) == pytest.approx(wanted, abs=1e-9)
    assert (found(learnt[:, 0]) == pytest.approx(epochs[-1][1], abs=1e-9)) is not validated


@pytest.mark.torch
def test_training_leaves_the_random_numbers_of_others_and_repeats_itself():
    import torch

    before = torch.random.get_rng_state()
    one, other = (train(invented_pairs(1), None, PROPENSITIES) for _ in range(2))
    assert torch.equal(before, torch.random.get_rng_state())
    rows = invented_pairs(4)[:, 0]
    assert one(rows).tolist() == other(rows).tolist()
    assert one(rows).tolist() != train(invented_pairs(1), None, PROPENSITIES, Training(dropout=0))(rows).tolist()
    # The more authors in common, the higher the score: nothing else tells.
    assert np.corrcoef(one(rows), rows[:, 0])[0, 1] > 0.5


def world(folder, splits=("train", "val", "test")):
    """Clicks on the paper that shares an author, beside vectors that say nothing, in the form of SciDocs."""
    rng = np.random.default_rng(9)
    (folder / "recomm").mkdir(parents=True)
    papers, vectors = {}, {}
    for split in splits:
        lines = ["pid,clicked_pid,other_pids"]
        for click in range(40):
            names = [f"{split}-{click}-{place}" for place in range(6)]
            clicked = names[int(rng.integers(1, 6))]
            for name in names:
                author = "same" if name in (names[0], clicked) else name
                papers[name] = ("Title", [f"{click} {author}"], [], [], 2000)
                vectors[name] = rng.standard_normal(3)
            lines.append(f'{names[0]},{clicked},"{",".join(names[1:])}"')
        (folder / "recomm" / f"{split}.csv").write_text("\n".join(lines) + "\n")
    (folder / "recomm" / "propensity_scores.json").write_text(json.dumps({"scores": PROPENSITIES}))
    write_metadata(folder, papers)
    return SciDocs(folder), vectors


@pytest.mark.torch
@pytest.mark.parametrize("split", ["test", "val"])
def test_the_network_learns_what_vectors_do_not_say(tmp_path, split):
    folder, vectors = world(tmp_path / "data")
    outcomes = evaluate_scidocs(folder, embedder(vectors), split=split)
    assert list(outcomes) == ["recomm", "recomm-cosine"]
    learnt, cosine = (one.cells["adjusted P@1"].mean for one in outcomes.values())
    assert learnt == 1.0
    assert cosine < 0.5
    told = {"clicks": 40, "papers_missing": 0, "training_clicks": 40, "papers_without_metadata": 0}
    assert outcomes["recomm"].counts == told


@pytest.mark.torch
def test_the_command_prints_both_rankings(tmp_path):
    folder, vectors = world(tmp_path / "data")
    vectors.pop("test-0-1")
    write_vectors(tmp_path / "v.jsonl", vectors)
    given = ["--data", str(folder.path), "--embeddings", str(tmp_path / "v.jsonl")]
    rows = {row["task"]: row for row in json.loads(ses(tmp_path, "eval", "scidocs", *given, "--json").stdout)["rows"]}
    assert rows["recomm"]["measures"]["adjusted nDCG"]["mean"] == 1.0
    assert rows["recomm"]["counts"]["papers_missing"] == 1
    assert rows["recomm-cosine"]["measures"]["adjusted nDCG"]["mean"] < 0.9


def test_mistakes(tmp_path, monkeypatch):
    folder, vectors = world(tmp_path / "data", splits=["test"])
    embed = embedder(vectors)
    with pytest.raises(
        InputError, match=r"recomm holds no train\.csv to learn from: fetch it, or measure the task recomm-cosine alone"
    ):
        evaluate_scidocs(folder, embed, tasks=["recomm"])
    with pytest.raises(InputError, match="No click to learn from has another paper shown: fetch"):
        train(np.empty((0, 2, FEATURES)), None, PROPENSITIES)
    path = tmp_path / "paper_metadata_recomm.json"
    path.write_text(json.dumps({"p": {"paper_id": "p", "title": "T", "authors": [], "references": []}}))
    with pytest.raises(InputError, match="line 1: the paper has no list 'cited_by'; fetch the file again"):
        read_facts(path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnavailableError, match="SciDocs' network needs torch"):
        train(invented_pairs(1), None, PROPENSITIES)


def test_years_that_are_no_numbers_are_unknown(tmp_path):
    years = {"a": "2001", "b": "unknown", "c": math.nan, "d": None}
    facts = read_facts(write_metadata(tmp_path, {name: ("T", "", [], [], year) for name, year in years.items()}))
    assert [one.year for one in facts.values()] == [2001.0, None, None, None]
