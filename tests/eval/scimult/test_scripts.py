"""SciMult's tasks on drawn data whose figures were computed once by its own scripts."""

from __future__ import annotations

import numpy as np
import pytest

from eval.scimult import (
    evaluate_classification,
    evaluate_links,
    evaluate_searches,
    read_classification,
    read_links,
    read_searches,
)
from tests.eval.scimult.worlds import paper
from tests.eval.vectors_by_hand import embedder, write_lines

SCRIPTS = {
    "Geography": [0.12531746, 0.29214286, 0.65738095],
    "Geography with label matching": [0.15984127, 0.31650794, 0.6502381],
    "MAG": [0.1, 0.07522278],
    "SciDocs cite": [0.15602564, 0.42948718, 0.76141026],
    "SciDocs co-cite": [0.15942029, 0.44927536, 0.85507246],
    "PMCPatientsPPR patient": [0.25833333, 0.36666667, 0.825],
    "Recommendation": [0.69626457, 0.79445114, 0.83532111],
    "Search": [0.69202527],
    "SciFact": [0.14847997],
}


def draw(folder):
    """Write a set of each kind and return the vectors; those of what pytrec_eval ranks tie often."""
    folder.mkdir()
    rng = np.random.default_rng(11)
    vectors = {}

    def place(names, ties=False):
        vectors.update({name: rng.integers(-1, 2, 6) if ties else rng.standard_normal(6).round(3) for name in names})
        return names

    def some(names, most):
        return rng.choice(names, int(rng.integers(1, most)), replace=False).tolist()

    labels, papers = place([f"L{i}" for i in range(150)]), place([f"p{i}" for i in range(30)])
    write_lines(folder / "Geography_label.json", [_label(name) for name in labels])
    gold = [some([*labels, "unknown"], 8) for _ in papers]
    write_lines(folder / "Geography_papers_test.json", [paper(p, label=g) for p, g in zip(papers, gold, strict=True)])
    write_lines(folder / "Geography_matched.json", [{"candidate": some(labels, 60)} for _ in papers])
    labels, papers = place([f"C{i}" for i in range(7)]), place([f"m{i}" for i in range(60)])
    write_lines(folder / "MAG_label.json", [_label(name) for name in labels])
    write_lines(folder / "MAG_papers_test.json", [paper(name, label=int(rng.integers(6))) for name in papers])
    papers = place([f"d{i}" for i in range(130)])
    lines = [paper(name, **{"cite": some([*papers, "gone"], 6), "co-cite": some(papers, 3)[1:]}) for name in papers]
    write_lines(folder / "SciDocs_papers_test.json", lines)
    patients = place([f"t{i}" for i in range(120)])
    write_lines(folder / "PMCPatientsPPR_patients_test.json", [{**paper(name), "patient": name} for name in patients])
    lines = [{**paper(name), "query": name, "patient": some(patients, 5)} for name in patients[:30]]
    write_lines(folder / "PMCPatientsPPR_queries_test.json", lines)
    papers = place([f"r{i}" for i in range(60)], ties=True)
    grades = [{one: int(rng.integers(6)) for one in some(papers, 20)} if i < 20 else {} for i in range(60)]
    lines = [paper(name, score=of_each) for name, of_each in zip(papers, grades, strict=True)]
    write_lines(folder / "Recommendation_papers_test.json", lines)
    for name in ("Search", "SciFact"):
        papers, queries = (place([f"{name}-{kind}{i}" for i in range(40)], ties=True) for kind in "dq")
        grades = [{one: int(rng.integers(-1, 3)) for one in some(papers, 15)} for _ in queries]
        grades[3] = {}
        lines = [{"query_id": q, "query": f"a {q}", "score": of_q} for q, of_q in zip(queries, grades, strict=True)]
        write_lines(folder / f"{name}_papers_test.json", [paper(one) for one in papers])
        write_lines(folder / f"{name}_queries_test.json", lines)
    return vectors


def _label(name):
    return {"label": name, "name": [f"name {name}", "alias"], "definition": f"means {name}"}


def test_every_task_is_as_the_scripts_measure_it(tmp_path):
    embed = embedder(draw(tmp_path / "data"))
    outcomes = {}
    for name in ("Geography", "MAG"):
        found = evaluate_classification(read_classification(tmp_path / "data", name), embed)
        outcomes |= {f"{name} {way}".strip(): one for way, one in found.items()}
    for name in ("SciDocs", "PMCPatientsPPR", "Recommendation"):
        found = evaluate_links(read_links(tmp_path / "data", name), embed)
        outcomes |= {f"{name} {relation}".strip(): one for relation, one in found.items()}
    for name in ("Search", "SciFact"):
        outcomes[name] = evaluate_searches(read_searches(tmp_path / "data", name), embed)
        assert outcomes[name].counts["queries_without_grades"] == 1
    found = {name: [cell.mean for cell in one.cells.values()] for name, one in outcomes.items()}
    assert found == {name: pytest.approx(figures, abs=1e-6) for name, figures in SCRIPTS.items()}
