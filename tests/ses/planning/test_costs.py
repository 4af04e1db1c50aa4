"""The formulas of `ses plan`, beside what was measured, and beside the files of an index."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector, sentence_vectors
from search_plugin.engines.cluster.diagnosis.indexes import estimate_index
from search_plugin.engines.registry import connect
from ses.planning import (
    COSTS,
    LETTERS_A_TOKEN,
    IndexShape,
    ProductCosts,
    core_seconds,
    gpu_seconds,
    graph_memory,
    growing,
    vectors_on_disk,
)

TWO = {"formats": 2, "quantization": "int8"}
MEASURED = [
    ("embedded", IndexShape(5_000, 948), {"memory": 94_371_840}),
    ("embedded", IndexShape(33_000, 1331), {"memory": 186_646_528}),
    ("embedded", IndexShape(132_000, 1331), {"memory": 497_025_024}),
    ("embedded", IndexShape(33_000, 1331), {"disk": 102_665_661}),
    ("embedded", IndexShape(33_000, 1331, sentences=7.9), {"disk": 237_510_000}),
    ("embedded", IndexShape(10_000, 948, formats=2), {"disk": 46_532_305, "load": 3.94, "page": 9.57}),
    ("embedded", IndexShape(10_000, 948), {"disk": 29_060_350, "load": 3.14, "page": 9.53}),
    ("embedded", IndexShape(33_000, 1331), {"disk": 102_003_306, "load": 12.98, "page": 10.02}),
    ("elasticsearch", IndexShape(3_000, 1001), {"disk": 9_466_287, "load": 1.99, "page": 29.88}),
    ("elasticsearch", IndexShape(10_000, 948), {"disk": 31_114_176, "load": 7.32, "page": 29.04}),
    ("elasticsearch", IndexShape(10_000, 948, **TWO), {"disk": 54_685_802, "load": 12.43, "page": 26.62}),
    ("elasticsearch", IndexShape(20_000, 1127), {"disk": 62_582_983, "load": 20.29, "page": 27.52}),
    ("opensearch", IndexShape(3_000, 1001), {"disk": 9_550_436, "load": 2.52, "page": 31.32}),
    ("opensearch", IndexShape(10_000, 948), {"disk": 31_350_427, "load": 10.26, "page": 31.57}),
    ("opensearch", IndexShape(10_000, 948, **TWO), {"disk": 55_202_296, "load": 12.33, "page": 33.87}),
    ("opensearch", IndexShape(20_000, 1127), {"disk": 62_541_317, "load": 25.51, "page": 31.32}),
]
"""Bytes of disk and memory, CPU seconds of loading and CPU milliseconds of a page, on two cores with VNNI, 23 and 26
November 2026: `python -m benchmarks.sizing ENGINE PAPERS`, `benchmarks.memory PAPERS` and `benchmarks.sentences 33000`
of 5ca73fab; the clusters are Elasticsearch 9 and OpenSearch 3."""

SPEEDS = {
    "int8": {(6, 384): 5451, (12, 384): 2523, (6, 768): 2155, (12, 768): 1055},
    "fp32": {(6, 384): 4098, (12, 384): 2104, (6, 768): 1359, (12, 768): 659},
}
"""Tokens a second of a core, by layers and width: `python -m benchmarks.widths 4` of 5ca73fab."""


@pytest.mark.parametrize(("product", "shape", "values"), MEASURED)
def test_the_formulas_are_within_15_percent_of_what_was_measured(product, shape, values):
    costs = COSTS[product]
    for name, seen in values.items():
        told = costs.page_cpu(shape.papers, 1) if name == "page" else getattr(costs, name)(shape)
        assert told / seen == pytest.approx(1, abs=0.15), name


@pytest.mark.parametrize("precision", SPEEDS)
def test_the_speeds_of_networks_are_within_15_percent_of_what_was_measured(precision):
    for (layers, width), tokens in SPEEDS[precision].items():
        assert core_seconds(LETTERS_A_TOKEN, layers, width, precision) * tokens == pytest.approx(1, abs=0.15)


def test_a_cluster_builds_graphs_while_it_loads():
    shape = IndexShape(8_000, 1_000)
    load = COSTS["opensearch"].load
    assert load(replace(shape, papers=64_000)) / load(shape) == pytest.approx(8 * math.log(64_001) / math.log(8_001))
    ratio = (1_000 + 5 * 1.6 * 384) / (1_000 + 1.6 * 384)
    assert load(replace(shape, formats=2, sentences=3)) == pytest.approx(ratio * load(shape))
    assert COSTS["embedded"].load(replace(shape, papers=64_000)) == pytest.approx(8 * COSTS["embedded"].load(shape))


TIMES = ProductCosts("opensearch", (0, 0), (0, 0), 0, (6.0, 12.0), 8.0)


def test_one_shard_is_as_fast_as_it_was_measured_and_no_faster():
    assert TIMES.page_times(33_000, 1) == pytest.approx((14, 20))
    assert TIMES.page_times(10, 1) == pytest.approx((14, 20))


@pytest.mark.parametrize("shards", [1, 4, 40])
def test_a_page_waits_for_the_slowest_shard(shards):
    spread = math.log(2) / NormalDist().inv_cdf(0.99)
    drawn = np.random.default_rng(0).lognormal(math.log(6), spread, (20_000, shards)).max(axis=1)
    expected = 8 + np.quantile(drawn, (0.5, 0.99))
    assert TIMES.page_times(33_000 * shards, shards) == pytest.approx(tuple(expected), rel=0.03)


def test_a_larger_shard_is_slower_and_keeps_its_spread():
    p50, p99 = TIMES.page_times(1_000_000, 1)
    assert p50 - 14 == pytest.approx(growing(1_000_000) - growing(33_000))
    assert (p99 - 8) / (p50 - 8) == pytest.approx(2)


@pytest.mark.slow
@pytest.mark.parametrize("papers", [300, 6_000])
def test_vectors_take_as_much_as_the_files_of_an_index(tmp_path, papers):
    draw = np.random.default_rng(0)
    schema = IndexSchema("none", "none", (paper_vector("prx", 32, "cosine"), sentence_vectors(32, "cosine")))
    engine = connect(f"embedded:{tmp_path}")
    with engine.lock("a"):
        index = engine.build("a", schema, "test")
        vectors = draw.standard_normal((papers, 3, 32)).astype(np.float32)
        index.upsert(
            [
                Document(Paper(str(at), "A title"), "hash", {"prx": own[0], "sentences": own[1:]})
                for at, own in enumerate(vectors)
            ]
        )
        index.finish()
    held = sum(path.stat().st_size for path in tmp_path.rglob("*") if "vector_" in str(path) and path.is_file())
    expected = vectors_on_disk("embedded", IndexShape(papers, 100, sentences=2, dimension=32))
    assert expected == pytest.approx(held, rel=0.04)  # faiss fills each list up to a multiple of 32 vectors


def test_a_cluster_keeps_whole_vectors_and_smaller_ones():
    shape = IndexShape(1_000, 100, formats=2, dimension=64)
    whole = 1_000 * 2 * (64 * 4 + 59)
    assert vectors_on_disk("opensearch", shape) == whole
    assert vectors_on_disk("opensearch", replace(shape, quantization="int8")) == whole + 2_000 * 68
    assert vectors_on_disk("elasticsearch", replace(shape, quantization="1bit")) == whole + 2_000 * 22
    # Sentences are kept in 8 bits, where whole vectors are kept as floats.
    assert vectors_on_disk("opensearch", replace(shape, sentences=3)) == whole + 3_000 * (64 * 4 + 59 + 68)


@pytest.mark.parametrize("quantization", ["none", "int8", "int4", "1bit"])
def test_the_memory_of_graphs_is_what_doctor_says_of_an_index(quantization):
    schema = IndexSchema("none", "none", (paper_vector("prx", 384, "cosine"), sentence_vectors(384, "cosine")))
    shape = IndexShape(1_000, 100, sentences=8, dimension=384, quantization=quantization)
    counts = {"prx": 1_000, "sentences": 8_000}
    assert graph_memory(shape) == estimate_index(schema, counts, 16, quantization)


def test_a_gpu_is_calculated_from_the_operations():
    # all-MiniLM-L6-v2: 6 layers of 12 * 384² weights, and two products with 200 tokens.
    operations = 6 * (2 * 12 * 384**2 + 2 * 2 * 200 * 384)
    assert operations == pytest.approx(23e6, rel=0.01)
    assert gpu_seconds(4.46e6, 6, 384) == pytest.approx(1e6 * operations / (0.25 * 121e12))


def test_time_grows_more_slowly_than_the_papers():
    assert growing(1_000_000) - growing(33_214) == pytest.approx(17.7 - 7.5)
    assert growing(1_000_000) / growing(33_000) == pytest.approx(5.3 / 0.51, rel=0.06)
    assert math.isclose(growing(4) * growing(25), growing(100) * growing(1))
