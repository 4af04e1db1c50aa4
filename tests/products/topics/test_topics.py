"""Topics: clusters, coordinates, and the command."""

from __future__ import annotations

import csv
import json
from typing import get_args

import numpy as np
import pytest

import ses as api
from corpora.errors import InputError
from products.topics import topics
from products.topics.topics import Projection, clean_field, find_topics
from tests.commands import fails, ses
from tests.tiny import make_model, papers, write_jsonl


def three_groups(size=12):
    draw = np.random.default_rng(0)
    centres = 5 * np.eye(3, 8)
    vectors = np.concatenate([centre + 0.1 * draw.normal(size=(size, 8)) for centre in centres]).astype(np.float32)
    texts = ["virus lung"] * size + ["star galaxy"] * size + ["soil ocean"] * size
    return [f"p{n}" for n in range(3 * size)], vectors, texts


def test_papers_that_are_alike_share_a_topic_with_their_terms():
    ids, vectors, texts = three_groups()
    found = find_topics(ids[:-2], vectors[:-2], texts[:-2], count=3)
    assert [topic.size for topic in found.topics] == [12, 12, 10]
    groups = [set(found.topic_of[start : start + 10].tolist()) for start in (0, 12, 24)]
    assert all(len(group) == 1 for group in groups)
    assert found.topics[found.topic_of[-1]].terms == ("ocean", "soil") or "soil" in found.topics[2].label
    assert set(found.topics[2].nearest) <= set(ids[24:])
    # A paper in the middle of its topic stands for it, and not one with the longest vector.
    for start in (0, 12, 24):
        vectors[start] *= 3
        vectors[start + 5] = vectors[start : start + 10].mean(axis=0)
    middle = find_topics(ids[:-2], vectors[:-2], texts[:-2], count=3)
    firsts = [middle.topic_of.tolist().index(number) for number in range(3)]
    assert [topic.nearest[0] for topic in middle.topics] == [ids[12 * (place // 12) + 5] for place in firsts]
    assert found.places.shape == (34, 2)
    again = find_topics(ids[:-2], vectors[:-2], texts[:-2], count=3)
    assert again.topic_of.tolist() == found.topic_of.tolist()


def test_labels_differ_even_where_terms_do_not():
    ids, vectors, _ = three_groups()
    for text in ("virus lung", "", "of the"):
        labels = [topic.label for topic in find_topics(ids, vectors, [text] * len(ids), count=3).topics]
        assert len(set(labels)) == 3


@pytest.mark.parametrize("count", [37, 1])
def test_more_topics_than_papers_are_refused(count):
    with pytest.raises(InputError, match=f"36 papers can't be divided into {count} topics"):
        find_topics(*three_groups(), count=count)


def test_t_sne_keeps_groups_apart():
    ids, vectors, texts = three_groups()
    places = find_topics(ids, vectors, texts, count=3, projection="tsne").places
    centres = places.reshape(3, 12, 2).mean(axis=1)
    spread = np.linalg.norm(places.reshape(3, 12, 2) - centres[:, None], axis=2).max()
    assert min(np.linalg.norm(centres[a] - centres[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > spread


def test_names_of_fields_leave_room_for_coordinates():
    assert clean_field("subject") == "subject"
    for name in ("x" * 49, "Topic", ""):
        with pytest.raises(InputError):
            clean_field(name)


def test_the_command_writes_topics_that_searches_can_count(tmp_path):
    model = make_model(tmp_path / "model")
    written = write_jsonl(tmp_path / "p.jsonl", papers(60))
    done = ses(tmp_path, "index", "--corpus", "jsonl", "--path", written, "--index", "mine", "--model", model)
    assert done.returncode == 0, done.stderr
    done = ses(tmp_path, "topics", "--topics", 4, "--out", tmp_path / "t.csv", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)["topics"]
    assert sum(topic["papers"] for topic in told) == 60
    with (tmp_path / "t.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    library = api.open(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache")
    page = library["mine"].search("virus", mode="lexical", facets=["topic"])
    assert {label for label, _ in page.facets.counts["topic"]} <= {topic["topic"] for topic in told}
    assert page.facets.counts["topic"]
    held = library["mine"].show("p00003").extra
    assert held["topic"] == rows["p00003"]["topic"]
    # A spreadsheet takes them for numbers: no mark of a text is before those below 0.
    assert min(float(row["x"]) for row in rows.values()) < 0
    assert held["topic_x"] == pytest.approx(float(rows["p00003"]["x"]), abs=1e-6)
    assert held["topic_y"] == pytest.approx(float(rows["p00003"]["y"]), abs=1e-6)


def test_a_dry_run_writes_nothing_and_wrong_requests_are_told(tmp_path):
    model = make_model(tmp_path / "model")
    written = write_jsonl(tmp_path / "p.jsonl", papers(12))
    ses(tmp_path, "index", "--corpus", "jsonl", "--path", written, "--index", "mine", "--model", model)
    done = ses(tmp_path, "topics", "--topics", 2, "--dry-run")
    assert "12 papers in 2 topics, not written" in done.stdout, done.stderr
    first = done.stdout.splitlines()[0]
    assert any(first.endswith(f": {paper.title}") for paper in papers(12)), first
    assert "topic" not in ses(tmp_path, "show", "p00003").stdout
    fails(ses(tmp_path, "topics", "--topics", 13), 2, "12 papers can't be divided into 13 topics")
    fails(ses(tmp_path, "topics", "--format", "clf"), 2, "no clf vectors")
    fails(ses(tmp_path, "topics", "--topics", 2, "--field", "Bad"), 2, "can't be named 'Bad'")


def test_the_number_of_topics_is_the_root_of_half_the_papers():
    ids, vectors, texts = three_groups()
    found = find_topics(ids, vectors, texts)
    assert len(found.topics) == 4 == round((36 / 2) ** 0.5)
    assert sorted(found.topic_of) == sorted(n for n, topic in enumerate(found.topics) for _ in range(topic.size))
    assert len(find_topics(ids[11:13], vectors[11:13], texts[11:13]).topics) == 2
    with pytest.raises(InputError, match="1 papers can't be divided into 2 topics; give topics from 2"):
        find_topics(ids[:1], vectors[:1], texts[:1])


def test_coordinates_are_the_principal_components_of_the_directions():
    ids, vectors, texts = three_groups()
    vectors *= np.arange(1, 37, dtype=np.float32)[:, None]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    left, scales, _ = np.linalg.svd(units - units.mean(axis=0), full_matrices=False)
    places = find_topics(ids, vectors, texts, count=3).places
    np.testing.assert_allclose(np.abs(places), np.abs(left[:, :2] * scales[:2]), atol=1e-4)


def test_t_sne_has_a_limit(monkeypatch):
    assert set(get_args(Projection)) == {"pca", "tsne"}  # what the library accepts
    monkeypatch.setattr(topics, "_LARGEST_MAP", 35)
    with pytest.raises(InputError, match="t-SNE is too slow for 36 papers: up to 35 is possible; use map=pca"):
        find_topics(*three_groups(), projection="tsne")
    assert find_topics(*three_groups(4), count=2, projection="tsne").places.shape == (12, 2)
