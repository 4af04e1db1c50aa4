import json
import math
from dataclasses import replace

import pytest

import ses
from ses.planning import COSTS, SENTENCES, FanOut, IndexShape, graph_memory
from tests.commands import ses as run


def test_a_small_index_is_one_node():
    small = ses.plan(10_000, product="embedded", replicas=0)
    assert (small.papers, small.vectors, small.shards, small.copies, small.nodes) == (10_000, 10_000, 1, 1, 1)
    assert small.decided_by == "its copies"
    costs, shape = COSTS["embedded"], IndexShape(10_000, 1331)
    assert small.disk_bytes == round(costs.disk(shape))
    assert small.memory_bytes == round(costs.memory(shape))
    assert small.loading_core_hours * 3_600 == pytest.approx(costs.load(shape))
    assert len(small.page) == 1
    assert small.costs == {}


def test_a_large_index_needs_shards_and_nodes():
    large = ses.plan(200e6, product="opensearch", replicas=1, queries=1)
    assert large.copies == 2
    assert large.shards == math.ceil(large.disk_bytes / 2 / 50e9)
    assert large.memory_bytes == round(2 * graph_memory(IndexShape(200_000_000, 1331)))
    assert large.decided_by == "its memory"
    # 31 GiB of 64 are the heap.
    assert large.nodes == math.ceil(large.memory_bytes / (33 << 30))
    assert [page.shards for page in large.page] == [large.shards, math.ceil(large.shards / 4), 4 * large.shards]
    expected = COSTS["opensearch"].page_times(200_000_000, large.shards)
    assert (large.page[0].p50, large.page[0].p99) == pytest.approx(expected)
    fewer, more = large.page[1], large.page[2]
    assert fewer.p99 > large.page[0].p99 > more.p99, "shards of 200 million papers are slow"


def test_quantization_and_dimension_save_memory():
    plain, eighths, short = (
        ses.plan(20e6, product="elasticsearch", **options)
        for options in ({}, {"quantization": "int8"}, {"dimension": 128})
    )
    assert plain.memory_bytes > 2 * eighths.memory_bytes
    assert plain.memory_bytes > 2 * short.memory_bytes
    assert (plain.dimension, short.dimension) == (384, 128)
    assert short.disk_bytes < plain.disk_bytes < eighths.disk_bytes


def test_more_vectors_and_longer_papers():
    one, several = (
        ses.plan(1e6, model="specter2", **more)
        for more in ({}, {"formats": ("prx", "clf", "rgn"), "passages": "sentences"})
    )
    assert several.vectors == round(1e6 * (3 + SENTENCES))
    assert several.encoding_core_hours == pytest.approx(4 * one.encoding_core_hours)
    assert several.disk_bytes > 3 * one.disk_bytes
    one = ses.plan(1e6)
    long = ses.plan(1e6, letters=2662, passages="sentences")
    assert long.vectors == round(1e6 * (1 + 2 * SENTENCES))
    assert long.encoding_core_hours == pytest.approx(4 * one.encoding_core_hours)


@pytest.mark.parametrize(("model", "vectors"), [("ses-minilm", 1), ("e5-small-v2", 2), ("scincl-adapters", 3)])
def test_a_vector_that_formats_share_counts_once(model, vectors):
    one, several = (ses.plan(1e6, model=model, formats=formats) for formats in (("prx",), ("clf,rgn", "prx")))
    assert (one.vectors, several.vectors) == (1_000_000, 1_000_000 * vectors)
    assert several.encoding_core_hours == pytest.approx(vectors * one.encoding_core_hours)


def test_a_larger_model_takes_longer():
    small, large = ses.plan(1e6), ses.plan(1e6, model="specter2")
    assert large.dimension == 768
    assert large.encoding_core_hours > 4 * small.encoding_core_hours
    assert large.encoding_gpu_hours == pytest.approx(7.7 * small.encoding_gpu_hours, rel=0.05)
    assert ses.plan(1e6, precision="fp32").encoding_core_hours > small.encoding_core_hours


def test_queries_need_nodes():
    few, many = (ses.plan(1e6, product="elasticsearch", queries=queries) for queries in (1, 10_000))
    assert (few.decided_by, many.decided_by) == ("its copies", "its queries")
    cpu = COSTS["elasticsearch"].page_cpu(1_000_000, 1)
    assert many.shards == 1
    assert many.nodes == math.ceil(10_000 * cpu / 1_000 / (16 * 0.5))
    twice = ses.plan(1e6, product="elasticsearch", queries=20_000)
    assert twice.nodes == pytest.approx(2 * many.nodes, abs=1)
    assert ses.plan(1e6, product="elasticsearch", queries=10_000, node_cores=32).nodes < many.nodes
    full = ses.plan(50e6, node_disk=20)
    assert full.decided_by == "its disk"
    assert full.nodes == math.ceil(full.disk_bytes / 16e9)
    wide = ses.plan(1e8, product="embedded", replicas=0, node_memory=100)
    assert wide.nodes == math.ceil(wide.memory_bytes / (80 << 30))
    small_heap = ses.plan(200e6, node_memory=16, queries=1)
    assert small_heap.nodes == math.ceil(small_heap.memory_bytes / (8 << 30))


def test_costs_are_of_a_million_papers():
    priced = ses.plan(20e6, core_price=0.05, gpu_price=1.0, node_price=300)
    assert priced.costs == {
        "encoding on CPUs": pytest.approx(0.05 * priced.encoding_core_hours / 20),
        "encoding on GPUs": pytest.approx(priced.encoding_gpu_hours / 20),
        "loading": pytest.approx(0.05 * priced.loading_core_hours / 20),
        "a month of serving": pytest.approx(300 * priced.nodes / 20),
    }
    assert str(priced).count(" of a million papers") == 4
    assert list(ses.plan(20e6, gpu_price=1.0).costs) == ["encoding on GPUs"]


def test_a_sizing_is_printed_with_its_units():
    sizing = ses.Sizing(
        product="elasticsearch",
        papers=2_000_000,
        vectors=4_000_000,
        dimension=384,
        disk_bytes=60 << 30,
        memory_bytes=3 << 29,
        shards=3,
        copies=2,
        nodes=4,
        decided_by="its disk",
        encoding_core_hours=1234.5,
        encoding_gpu_hours=0.0321,
        loading_core_hours=9.96,
        page=(FanOut(3, 20.4, 51.6), FanOut(1, 30.0, 60.0)),
        costs={"encoding on CPUs": 12.345, "loading": 1234.5},
    )
    expected = """\
2,000,000 papers with 4,000,000 vectors of 384 numbers, elasticsearch
disk      60.0 GiB for 2 copies
memory    1.5 GiB for graphs, beside Java's heap
shards    3 of 10.0 GiB
nodes     4, needed for its disk
encoding  1,234 hours of one core, or 1.9 minutes of one GPU (calculated)
loading   10 hours of one core
page      p50 20 ms, p99 52 ms over 3 shards
          p50 30 ms, p99 60 ms over one shard
cost      12.35 for encoding on CPUs of a million papers
          1,234.50 for loading of a million papers"""
    assert str(sizing) == expected
    small = str(replace(sizing, encoding_core_hours=0.5, encoding_gpu_hours=0.0001, loading_core_hours=1.0))
    assert "encoding  30 minutes of one core, or 0.36 seconds of one GPU (calculated)\nloading   1 hours of" in small
    alone = str(replace(sizing, product="embedded", copies=1, shards=1, costs={}))
    assert "for one copy\nmemory    1.5 GiB\nshards    1 of 60.0 GiB\n" in alone
    assert "cost" not in alone


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"papers": 0}, "papers can't be 0; give a number from 1 to"),
        ({"papers": math.nan}, "papers can't be nan"),
        ({"papers": 1e12}, "papers can't be 1,000,000,000,000.0"),
        ({"papers": 10, "formats": ("none",)}, "formats 'none' can't be read; give some of"),
        ({"papers": 10, "replicas": -1}, "replicas can't be -1; give a whole number of at least 0"),
        ({"papers": 10, "letters": math.inf}, "letters can't be inf"),
        ({"papers": 10, "dimension": 0}, "dimension can't be 0"),
        ({"papers": 10, "node_memory": 0.5}, "node_memory can't be 0.5"),
        ({"papers": 10, "model": "mine"}, "model 'mine' is not known; choose one of ses-minilm, "),
        ({"papers": 10, "product": "solr"}, "product can't be 'solr'"),
        ({"papers": "many"}, "papers can't be 'many'"),
    ],
)
def test_what_can_not_be_planned_is_said(options, message):
    with pytest.raises(ses.InputError, match=message):
        ses.plan(**options)


def test_the_command_prints_the_plan(tmp_path):
    done = run(tmp_path, "plan", "20e6", "--product", "elasticsearch", "--quantization", "int8", "--node-price", "300")
    assert (done.returncode, done.stderr) == (0, "")
    expected = ses.plan(20e6, product="elasticsearch", quantization="int8", node_price=300)
    assert done.stdout == f"{expected}\n"
    assert done.stdout.startswith("20,000,000 papers with 20,000,000 vectors of 384 numbers, elasticsearch\ndisk ")
    told = json.loads(run(tmp_path, "plan", "20e6", "--json").stdout)
    assert told == json.loads(json.dumps(ses.plan(20e6).to_dict()))


def test_every_option_of_the_command_is_that_of_python(tmp_path):
    given = {
        "product": "embedded",
        "model": "specter2",
        "dimension": 256,
        "passages": "sentences",
        "quantization": "int8",
        "precision": "fp32",
        "letters": 900,
        "replicas": 0,
        "queries": 1000,
        "node_cores": 8,
        "node_memory": 32,
        "node_disk": 500,
        "core_price": 0.1,
        "gpu_price": 2,
        "node_price": 100,
    }
    flags = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
    done = run(tmp_path, "plan", "1e6", "--formats", "prx,clf", *flags)
    assert done.stdout == f"{ses.plan(1e6, formats=('prx', 'clf'), **given)}\n"
    assert run(tmp_path, "plan", "1e6", "--dimension", "0").returncode == 2


def test_doctor_plans_too(tmp_path):
    assert run(tmp_path, "doctor", "--plan", "200e6").stdout == f"{ses.plan(200e6)}\n"
    assert json.loads(run(tmp_path, "doctor", "--plan", "5e6", "--json").stdout)["papers"] == 5_000_000
    done = run(tmp_path, "doctor", "--plan", "0")
    assert (done.returncode, done.stdout) == (2, "")
