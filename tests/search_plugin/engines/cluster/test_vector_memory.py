"""Numbers worked out by hand from the engines' documentation."""

from __future__ import annotations

import pytest

from search_plugin.contract.diagnosis import human_bytes
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.engines.cluster.diagnosis.indexes import estimate, estimate_index, vector_bytes


def test_whole_vectors_by_the_published_example():
    # OpenSearch's own: a million vectors of 256 numbers with m = 16 take about 1.267 GB.
    assert estimate(256, "none", 1_000_000, 16) == 1_267_200_000


@pytest.mark.parametrize(
    ("quantization", "one", "million"),
    [
        ("none", 3072, 3_520_000_000),  # 1.1 * (4 * 768 + 128)
        ("int8", 772, 990_000_000),  # 1.1 * (768 + 4 + 128)
        ("int4", 388, 567_600_000),  # 1.1 * (384 + 4 + 128)
        ("1bit", 110, 261_800_000),  # 1.1 * (96 + 14 + 128)
    ],
)
def test_768_numbers(quantization, one, million):
    assert vector_bytes(768, quantization) == one
    assert estimate(768, quantization, 1_000_000, 16) == million


def test_an_index_is_the_sum_of_its_fields():
    schema = IndexSchema("m", "f", (paper_vector("prx", 768, "l2"), paper_vector("clf", 256, "l2")), "int8")
    counts = {"prx": 1_000_000, "clf": 1_000_000}
    assert estimate_index(schema, counts, 16, "int8") == 990_000_000 + 426_800_000  # 1.1 * (256 + 4 + 128)
    assert estimate_index(schema, {}, 16, "int8") == 0


def test_sizes_for_people():
    assert [human_bytes(size) for size in (0, 1023, 1024, 1536, 5 << 40)] == [
        "0 bytes",
        "1,023 bytes",
        "1.0 KiB",
        "1.5 KiB",
        "5.0 TiB",
    ]
