"""faiss's lists of similar vectors: recall with and without filters, growth, and what a damaged file must not do."""

from __future__ import annotations

import faiss
import numpy as np
import pytest

from search_plugin.engines.embedded import vectors
from search_plugin.engines.embedded.derived import deriving
from search_plugin.engines.embedded.vectors import extend, load, nearest

MANY, DIMENSION, WINDOW = 30_000, 32, 10


def clustered(count, seed=0):
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((60, DIMENSION))
    return (centres[draw.integers(0, 60, count)] + 0.7 * draw.standard_normal((count, DIMENSION))).astype(np.float32)


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    folder, matrix = tmp_path_factory.mktemp("lists"), clustered(MANY)
    extend(folder, "v", lambda: matrix, "cosine")
    return matrix, load(folder, "v", MANY)


@pytest.mark.parametrize("share", [1, 0.9, 0.5, 0.35])
def test_nearly_all_of_the_nearest_are_found_also_with_a_filter(held, share, monkeypatch):
    monkeypatch.setattr(vectors, "READ", 1)
    matrix, index = held
    allowed = None if share == 1 else np.random.default_rng(1).random(MANY) < share
    found = read = 0
    for query in clustered(40, 2):
        rows, scores = nearest(matrix, query, "cosine", WINDOW, allowed, index)
        exact, best = nearest(matrix, query, "cosine", WINDOW, allowed, None)
        assert allowed is None or allowed[rows].all()
        assert scores[0] <= best[0] + 1e-6
        found += len(set(rows) & set(exact))
        faiss.cvar.indexIVF_stats.reset()
        index.candidates(query[None], WINDOW // 2, allowed)
        read = max(read, faiss.cvar.indexIVF_stats.nlist)
    assert found >= 0.96 * 40 * WINDOW
    assert read == round((index.index.nlist / (1 if allowed is None else allowed.mean())) ** 0.5)


@pytest.mark.parametrize(("width", "codes"), [(127, 127), (128, 128), (255, 255), (256, 128), (257, 257), (384, 192)])
def test_lists_keep_4_bits_of_each_number_or_of_each_two_of_many(width, codes):
    assert vectors.codes_of(width) == codes


@pytest.mark.slow
@pytest.mark.parametrize("width", [255, 256])
def test_lists_are_made_with_so_many_codes(tmp_path, monkeypatch, width):
    monkeypatch.setattr(vectors, "INDEXED_FROM", 2_000)
    matrix = np.random.default_rng(3).standard_normal((2_000, width)).astype(np.float32)
    extend(tmp_path, "v", lambda: matrix, "cosine")
    assert vectors.codes_of(width) == load(tmp_path, "v", len(matrix)).index.pq.M


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_lists_find_nearly_all_in_half_of_8_bits(tmp_path, similarity):
    count, width = 12_000, 384
    draw = np.random.default_rng(3)
    axes = draw.standard_normal((8, width))
    matrix = (draw.standard_normal((count, 8)) @ axes + 0.1 * draw.standard_normal((count, width))).astype(np.float32)
    extend(tmp_path, "v", lambda: matrix, similarity)
    index = load(tmp_path, "v", count)
    size = sum(file.stat().st_size for file in tmp_path.glob("v.lists-*/*"))
    centres = index.index.nlist * width * 4
    assert size - centres < 0.5 * count * (width + 8)
    found = 0
    for query in matrix[:40] + 0.1 * draw.standard_normal((40, width)).astype(np.float32):
        rows, _ = nearest(matrix, query, similarity, 20, None, index)
        exact, _ = nearest(matrix, query, similarity, 20, None, None)
        found += len(set(rows) & set(exact))
    assert found >= 0.97 * 40 * 20


@pytest.mark.slow
def test_lists_of_earlier_versions_are_searched_until_they_are_extended(tmp_path):
    matrix, count = clustered(20_000), 12_000
    earlier = faiss.IndexIVFScalarQuantizer(
        faiss.IndexFlatIP(DIMENSION), DIMENSION, 300, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    units = vectors.normal(matrix, "cosine")
    earlier.train(units[:count])
    earlier.add(units[:count])
    written(tmp_path, earlier)
    rows, _ = nearest(matrix[:count], matrix[7], "cosine", 2, None, load(tmp_path, "v", count))
    exact, _ = nearest(matrix[:count], matrix[7], "cosine", 2, None, None)
    assert (rows == exact).all()
    extend(tmp_path, "v", lambda: matrix, "cosine")
    index = load(tmp_path, "v", len(matrix))
    assert (index.covered, index.index.nlist) == (20_000, round(4 * 20_000**0.5))
    assert isinstance(index.index, faiss.IndexIVFPQFastScan)


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_lists_are_extended_and_made_anew_when_there_are_four_times_as_many_vectors(tmp_path, similarity):
    matrix = clustered(51_000)
    made = []
    for count in (9_999, 12_000, 14_000, 15_500, 50_000, 51_000):
        extend(tmp_path, "v", lambda count=count: matrix[:count], similarity)
        index = load(tmp_path, "v", count)
        made.append((index.covered, index.index.nlist) if index else None)
    lists = [round(4 * count**0.5) for count in (12_000, 50_000)]
    assert made == [None, *[(12_000, lists[0])] * 2, (15_500, lists[0]), *[(50_000, lists[1])] * 2]
    # Behind the lists, the first and the last one included.
    for later in (50_000, 50_500, 50_999):
        rows, _ = nearest(matrix, matrix[later], similarity, 5, None, index)
        exact, _ = nearest(matrix, matrix[later], similarity, 5, None, None)
        assert (rows == exact).all()


def test_lists_of_rows_that_do_not_exist_are_not_used(tmp_path, caplog):
    matrix = clustered(12_000)
    extend(tmp_path, "v", lambda: matrix, "cosine")
    index = load(tmp_path, "v", 12_000, to_extend=True).index
    assert caplog.messages == []
    for wrong in (-1, 12_000):
        faiss.rev_swig_ptr(index.invlists.get_ids(3), index.invlists.list_size(3))[0] = wrong
        written(tmp_path, index)
        assert load(tmp_path, "v", 12_000) is None
    written(tmp_path, faiss.IndexFlatIP(DIMENSION))
    assert load(tmp_path, "v", 12_000) is None
    reasons = [told.partition("(")[2].partition(")")[0] for told in caplog.messages]
    assert reasons == ["a vector index does not hold what its name says"] * 2 + ["a vector index is of another kind"]


def written(folder, index):
    with deriving(folder, "v.lists", 12_000) as part:
        faiss.write_index(index, str(part / "lists"))
