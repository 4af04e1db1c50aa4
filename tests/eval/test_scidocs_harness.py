"""SciDocs on drawn data whose figures were computed once by its own harness, with its own SVM."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eval.scidocs import RANKING, SciDocs, evaluate_scidocs
from tests.eval.vectors_by_hand import embedder

CLASSES = {"mag": 12, "mesh": 3}
HARNESS = {
    "mag": {"F1 macro": 0.29092157},
    "mesh": {"F1 macro": 0.74473346},
    "coview": {"MAP": 0.25326729, "nDCG": 0.47872854},
    "coread": {"MAP": 0.3079267, "nDCG": 0.53967947},
    "cite": {"MAP": 0.27775673, "nDCG": 0.51343705},
    "cocite": {"MAP": 0.2903709, "nDCG": 0.52413649},
}


def draw(folder):
    """Some papers lack vectors, some rows come twice, distances tie, and a query has no candidate with a vector."""
    rng = np.random.default_rng(6)
    vectors, papers = {}, []
    for task, classes in CLASSES.items():
        (folder / task).mkdir(parents=True)
        centres = rng.standard_normal((classes, 8))
        for split, count in (("train", 240), ("val", 10), ("test", 90)):
            rows = ["pid,class_label"]
            for number in range(count):
                name, label = f"{task}-{split}-{number}", int(rng.integers(classes))
                papers.append(name)
                rows += [f"{name},{label}"] * (2 if number % 17 == 0 else 1)
                if number % 9:
                    vectors[name] = (centres[label] + 1.5 * rng.standard_normal(8)).round(3)
            (folder / task / f"{split}.csv").write_text("\n".join(rows) + "\n")
    _write_metadata(folder / "paper_metadata_mag_mesh.json", papers)
    names = [f"v{number}" for number in range(120)]
    vectors |= {name: rng.integers(0, 3, 8).astype(float) for name in names if rng.random() > 0.1}
    _write_metadata(folder / "paper_metadata_view_cite_read.json", names)
    lost = [name for name in names if name not in vectors]
    alone = next(name for name in names[30:] if name in vectors)
    for task in RANKING:
        (folder / task).mkdir()
        judged = [(query, one) for query in names[:30] for one in rng.choice(names, 25, replace=False)]
        lines = [f"{query} 0 {one} {int(rng.random() < 0.2)}" for query, one in judged]
        lines += [f"{alone} 0 {one} 1" for one in lost]
        (folder / task / "test.qrel").write_text("\n".join(lines) + "\n")
    return vectors


def _write_metadata(path, names):
    path.write_text(json.dumps({name: {"paper_id": name, "title": name, "abstract": ""} for name in names}))


def test_every_task_is_as_the_harness_measures_it(tmp_path):
    vectors = draw(tmp_path / "data")
    outcomes = evaluate_scidocs(SciDocs(tmp_path / "data"), embedder(vectors))
    found = {task: {measure: cell.mean for measure, cell in one.cells.items()} for task, one in outcomes.items()}
    assert found == {task: pytest.approx(figures, abs=1e-6) for task, figures in HARNESS.items()}
    lost = sum(f"v{number}" not in vectors for number in range(30))
    assert outcomes["cite"].counts["queries_left_out"] == lost + 1
    assert outcomes["mag"].counts["papers"] == 90 + 6
