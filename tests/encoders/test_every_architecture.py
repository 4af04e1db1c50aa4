"""What holds for every architecture: its torch form and its graphs agree, and its card tells what it is."""

from __future__ import annotations

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.layouts.exported import export_model
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.every import MAKERS, TORCH_MAKERS
from tests.tiny import papers

TEXTS = ["", "virus", *(f"{paper.title} [SEP] {paper.abstract}" for paper in papers(9)), "lung " * 200]
EVERY = [*MAKERS, *(pytest.param(name, marks=pytest.mark.torch) for name in TORCH_MAKERS)]

OPERATORS = (
    *("plain", "mpnet", "modernbert", "adapters of every kind", "instruction encoder", "shared-codes"),
    *("fusion", "pals", "gated experts", "gated instructions"),
)
"""Architectures that together use every operator: another runtime is compared on these alone, as each compiles long."""

STORED = ("codes", "adapters", "experts in a folder", "ensemble", "routes", "gated experts")
"""Architectures whose exports differ in their graphs or their card."""


@pytest.fixture(scope="module", params=EVERY)
def model(request, tmp_path_factory):
    return find_model(str((MAKERS | TORCH_MAKERS)[request.param](tmp_path_factory.mktemp("every") / "model")))


def some(names):
    """Return a mark that gives a test some of the architectures in place of all."""
    chosen = [one for one in EVERY if (one if isinstance(one, str) else one.values[0]) in names]
    assert len(chosen) == len(names)
    return pytest.mark.parametrize("model", chosen, indirect=True, scope="module")


@pytest.fixture(scope="module")
def expected(model, tmp_path_factory):
    """The vectors of all formats by onnxruntime in fp32, made once for each architecture."""
    return encoder_of(model, tmp_path_factory.mktemp("expected")).encode_formats(TEXTS, model.card.formats)


def encoder_of(model, folder, runtime="onnx", precision="fp32"):
    return load_encoder(model, cache_dir=folder / "cache", runtime=runtime, precision=precision, threads=1)


@some(OPERATORS)
@pytest.mark.parametrize(
    "runtime", [pytest.param("torch", marks=pytest.mark.torch), pytest.param("openvino", marks=pytest.mark.openvino)]
)
def test_other_runtimes_agree_with_onnxruntime_on_padded_batches(model, expected, runtime, tmp_path):
    for task_format, vectors in encoder_of(model, tmp_path, runtime).encode_formats(TEXTS, expected).items():
        np.testing.assert_allclose(vectors, expected[task_format], atol=1e-4)


@some(OPERATORS)
def test_int8_stays_close(model, expected, tmp_path):
    for task_format, vectors in encoder_of(model, tmp_path, precision="int8").encode_formats(TEXTS, expected).items():
        assert not np.array_equal(vectors, expected[task_format])
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(expected[task_format], axis=1)
        assert ((vectors * expected[task_format]).sum(axis=1) / lengths).mean() > 0.97


def test_formats_that_differ_have_vectors_that_differ(model, expected):
    by_head = {}
    for task_format, rows in expected.items():
        by_head.setdefault((model.card.head(task_format), model.card.prompts.get(task_format)), []).append(rows)
    for alike in by_head.values():
        for rows in alike[1:]:
            np.testing.assert_array_equal(rows, alike[0])
    if not model.members:
        distinct = [alike[0] for alike in by_head.values()]
        for i, rows in enumerate(distinct):
            assert all(np.abs(rows - other).max() > 0.01 for other in distinct[:i])


@some(STORED)
def test_an_export_gives_the_same_vectors(model, expected, tmp_path):
    export_model(model, tmp_path / "out", runtime="onnx", precision="fp32")
    exported = load_encoder(str(tmp_path / "out"), cache_dir=tmp_path / "unused", threads=1)
    assert exported.card.formats == model.card.formats
    for task_format, vectors in exported.encode_formats(TEXTS, list(expected)).items():
        np.testing.assert_allclose(vectors, expected[task_format], atol=1e-5)


def test_its_card_tells_what_one_pass_makes(model):
    card = model.card
    passes = card.passes(card.formats)
    assert sorted(one for group in passes for one in group) == sorted(card.formats)
    assert Format.PRX in card.formats
    assert Format.QRY in card.formats
    assert 0 <= card.network.shared_layers <= card.network.layers
