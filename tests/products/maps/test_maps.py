"""Maps of papers: topics by k-means, places by principal components and t-SNE."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from products.maps.maps import places_of, topics_of_papers


def groups(count, each, *, seed=0, width=24, spread=0.25):
    """Return vectors about some centres, and the number of each one's centre."""
    draw = np.random.default_rng(seed)
    of = np.repeat(np.arange(count), each)
    centres = draw.standard_normal((count, width))
    return (centres[of] + spread * draw.standard_normal((len(of), width))).astype(np.float32), of


def test_topics_are_the_groups_that_there_were():
    vectors, of = groups(5, 20)
    words = np.array(["virus", "star", "soil", "robot", "tumour"])
    titles = [f"The {words[one]} of number{row}" for row, one in enumerate(of)]
    topics, topic_of = topics_of_papers([str(row) for row in range(100)], vectors, titles, {"the", "of"}, 5)
    assert sorted(topic.label for topic in topics) == sorted(words)
    assert all(topics[topic].terms[0] == words[one] for topic, one in zip(topic_of, of, strict=True))
    assert [topic.size for topic in topics] == [20] * 5
    for number, topic in enumerate(topics):
        assert {int(one) for one in topic.nearest} <= set(np.flatnonzero(topic_of == number).tolist())


def test_the_largest_topic_is_first_and_its_nearest_papers_are_those_of_the_centre():
    vectors, of = groups(2, 30)
    keep = np.flatnonzero((of == 1) | (np.arange(60) < 8))
    topics, topic_of = topics_of_papers([str(row) for row in keep], vectors[keep], ["a"] * len(keep), (), 2)
    assert [topic.size for topic in topics] == [30, 8]
    assert np.array_equal(topic_of, (of[keep] == 0).astype(int))
    units = vectors[keep] / np.linalg.norm(vectors[keep], axis=1, keepdims=True)
    own = units[topic_of == 0]
    order = np.argsort(-(own @ own.mean(axis=0)))[:3]
    assert topics[0].nearest == tuple(str(keep[topic_of == 0][row]) for row in order)


def test_clusters_are_as_tight_as_those_of_scikit_learn():
    vectors = np.random.default_rng(3).standard_normal((120, 8)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    _, topic_of = topics_of_papers([str(row) for row in range(120)], vectors, ["a"] * 120, (), 6)
    spread = sum(((units[topic_of == one] - units[topic_of == one].mean(axis=0)) ** 2).sum() for one in range(6))
    assert spread <= 1.05 * KMeans(6, n_init=10, random_state=0).fit(units).inertia_


@pytest.mark.parametrize(("papers", "topics"), [(0, 0), (1, 1), (3, 1), (8, 2), (72, 6), (500, 8)])
def test_the_number_of_topics_follows_that_of_papers(papers, topics):
    vectors = np.random.default_rng(0).standard_normal((papers, 8)).astype(np.float32)
    made, topic_of = topics_of_papers([str(row) for row in range(papers)], vectors, ["word"] * papers)
    assert len(made) == topics
    assert len(topic_of) == papers


def test_equal_papers_are_one_topic():
    topics, topic_of = topics_of_papers(["a", "b", "c"], np.ones((3, 4), np.float32), ["", "", ""], (), 3)
    assert [(topic.label, topic.size) for topic in topics] == [("no terms", 3)]
    assert topic_of.tolist() == [0, 0, 0]
    assert np.isfinite(places_of(np.ones((5, 4), np.float32))).all()


def test_principal_components_are_those_of_scikit_learn_with_one_sign():
    vectors, _ = groups(3, 10, seed=1)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = PCA(2).fit(units)
    axes = expected.components_
    axes = axes * np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]
    places = (units - units.mean(axis=0)) @ axes.T
    places -= (places.min(axis=0) + places.max(axis=0)) / 2
    found = places_of(vectors, "pca")
    assert found == pytest.approx(places / np.abs(places).max(), abs=1e-5)
    assert np.abs(found).max() == pytest.approx(1)


def test_near_papers_are_near_on_the_map():
    vectors, of = groups(6, 25, seed=2)
    found = places_of(vectors)
    assert np.abs(found).max() == pytest.approx(1)
    assert trustworthiness(vectors, found, n_neighbors=10) > 0.95
    distances = ((found[:, None] - found[None]) ** 2).sum(axis=2) + 9 * np.eye(150)
    assert (of[distances.argmin(axis=1)] == of).all()
    assert np.array_equal(found, places_of(vectors))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("projection", ["pca", "tsne"])
def test_few_papers_have_places(count, projection):
    found = places_of(np.random.default_rng(1).standard_normal((count, 6)).astype(np.float32), projection)
    assert found.shape == (count, 2)
    assert np.isfinite(found).all()
