import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from corpora.errors import UnavailableError
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector, sentence_vectors
from search_plugin.engines.cluster.diagnosis.indexes import estimate_index
from search_plugin.engines.registry import connect
from ses.planning.costs import fitted, graph_memory, growing, left_out, measured_at, vectors_on_disk
from ses.planning.encoding import LETTERS_A_TOKEN, core_seconds, gpu_seconds
from ses.planning.measured import IndexShape, MeasuredIndex, measured_encoders, measured_indexes

POINTS = measured_indexes()
ENCODERS = measured_encoders()
MEASURED = [(point, quantity) for point in POINTS for quantity in point.values]


def named(value):
    return f"{value.product}-{value.command.split('.')[-1]}" if isinstance(value, MeasuredIndex) else str(value)


@pytest.mark.parametrize(("point", "quantity"), MEASURED, ids=named)
def test_the_other_points_predict_each_measured_cost_within_15_percent(point, quantity):
    assert left_out(POINTS, point, quantity) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("point", ENCODERS, ids=lambda point: f"{point.precision}-{point.layers}-{point.width}")
def test_the_other_networks_predict_each_speed_within_15_percent(point):
    others = [other for other in ENCODERS if other is not point]
    a_token = core_seconds(others, LETTERS_A_TOKEN, point.layers, point.width, point.precision)
    assert a_token * point.tokens == pytest.approx(1, abs=0.15)


def test_every_point_says_where_it_comes_from():
    for point in (*POINTS, *ENCODERS):
        assert point.command.startswith("python -m benchmarks.")
        assert point.machine
        assert date(2026, 11, 1) <= point.date
    for product in ("embedded", "opensearch", "elasticsearch"):
        for quantity in ("disk", "load", "page"):
            assert len(measured_at(POINTS, product, quantity)) >= 3
        assert any(point.product == product and point.legs for point in POINTS)


def point(product="embedded", papers=1_000, **values):
    shape = IndexShape(papers, 1_000)
    return MeasuredIndex(product, shape, values, "python -m benchmarks.sizing", "a machine", date(2026, 11, 26))


def test_a_fit_finds_the_factors_that_made_the_points():
    sizes = (1_000, 7_000, 50_000, 400_000)
    disks = {papers: 5e5 + 1.5 * papers * 1_000 for papers in sizes}
    points = [
        point(
            papers=papers,
            disk=disk + vectors_on_disk("embedded", IndexShape(papers, 1_000)),
            page=2 + growing(papers),
            load=3e-7 * papers * 1_000 + 2e-8 * papers * 384,
        )
        for papers, disk in disks.items()
    ]
    assert fitted(points, "embedded", "disk").factors == pytest.approx((5e5, 1.5))
    assert fitted(points, "embedded", "page").factors == pytest.approx((2,))
    shape = IndexShape(2_000_000, 1_000)
    expected = 2_000_000 * (3e-4 + 2e-8 * 384)
    assert fitted(points, "embedded", "load").of(shape) == pytest.approx(expected)
    assert left_out(points, points[2], "page") == pytest.approx(1)


def test_a_cluster_builds_graphs_while_it_loads():
    points = [
        point("opensearch", papers=papers, load=2e-8 * papers * (1_000 + 1.6 * 384) * math.log2(1 + papers), disk=disk)
        for papers, disk in (
            (1_000, 1_500 * 1_000 + 1_000 * (384 * 4 + 59)),
            (8_000, 1_500 * 8_000 + 8_000 * (384 * 4 + 59)),
        )
    ]
    assert fitted(points, "opensearch", "load").factors == pytest.approx((2e-8,))
    assert fitted(points, "opensearch", "disk").factors == pytest.approx((1.5,))
    several = replace(points[0].shape, formats=2, sentences=3)
    ratio = (1_000 + 5 * 1.6 * 384) / (1_000 + 1.6 * 384)
    assert fitted(points, "opensearch", "load").of(several) == pytest.approx(ratio * points[0].values["load"])


def test_no_factor_is_below_0():
    points = [point(papers=papers, load=papers, disk=1.0) for papers in (1_000, 10_000)]
    points.append(replace(points[0], shape=replace(points[0].shape, formats=2), values={"load": 500}))
    of_letters, of_vectors = fitted(points, "embedded", "load").factors
    assert of_vectors == 0
    assert 0.0005 < of_letters < 0.001


def test_memory_is_a_share_of_the_disk_beside_something_fixed():
    sizes = (1_000, 7_000, 50_000)
    disks = [1.5 * papers * 1_000 + vectors_on_disk("embedded", IndexShape(papers, 1_000)) for papers in sizes]
    points = [
        point(papers=papers, disk=disk, memory=7e7 + 0.9 * disk) for papers, disk in zip(sizes, disks, strict=True)
    ]
    assert fitted(points, "embedded", "memory").factors == pytest.approx((7e7, 0.9))


def test_what_was_never_measured_is_said():
    with pytest.raises(UnavailableError, match="The load of opensearch was measured at 0 sizes"):
        fitted([point(load=1.0)], "opensearch", "load")
    with pytest.raises(UnavailableError, match="The load of embedded was measured at 1 size"):
        fitted([point(load=1.0)], "embedded", "load")


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
