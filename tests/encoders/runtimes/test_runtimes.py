"""Every runtime and precision gives what onnxruntime gives in fp32, as nearly as its precision allows."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.runtimes.hardware import has_device
from encoders.runtimes.registry import RUNTIMES, fastest_of, get_runtime, is_installed
from tests.encoders.runtimes.kinds import HEADS, KINDS, PADDED_TOGETHER

ON_CPU = [
    pytest.param(name, precision, marks=[getattr(pytest.mark, lane) for lane in {"torch", "openvino"} & {name}])
    for name, precision in (
        ("onnx", "int8"),
        ("openvino", "int8"),
        ("openvino", "bf16"),
        ("openvino", "fp32"),
        ("torch", "bf16"),
        ("torch", "fp32"),
    )
]
COSINES = {"bf16": 0.999, "int8": 0.99}
"""The lowest of a text to fp32."""


@pytest.fixture(scope="session")
def encoded(models, tmp_path_factory):
    """Vectors of the texts by format, of a kind of model, a runtime and a precision."""
    cache_dir = tmp_path_factory.mktemp("graphs")

    def encode(kind, runtime, precision):
        encoder = load_encoder(models[kind], cache_dir=cache_dir, runtime=runtime, precision=precision, threads=1)
        assert encoder.runtime == f"{runtime}-{precision}"
        return encoder.encode_formats(PADDED_TOGETHER, list(HEADS))

    return encode


def assert_alike(found, expected, runtime, precision):
    for task_format, vectors in expected.items():
        assert found[task_format].dtype == np.float32
        if precision == "fp32":
            np.testing.assert_allclose(found[task_format], vectors, atol=1e-4)
        else:
            lengths = np.linalg.norm(found[task_format], axis=1) * np.linalg.norm(vectors, axis=1)
            assert ((found[task_format] * vectors).sum(axis=1) / lengths).min() > COSINES[precision]
            # On a CPU without bf16, OpenVINO's is fp32.
            assert np.abs(found[task_format] - vectors).max() > 1e-4 or (runtime, precision) == ("openvino", "bf16")


@pytest.mark.parametrize(("runtime", "precision"), ON_CPU)
def test_it_gives_what_onnxruntime_gives_in_fp32(runtime, precision, encoded):
    """Other architectures are in tests/encoders/test_every_architecture.py."""
    assert_alike(encoded("adapters", runtime, precision), encoded("adapters", "onnx", "fp32"), runtime, precision)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runtime", ["onnx", pytest.param("openvino", marks=pytest.mark.openvino)])
def test_in_int8_a_vector_depends_on_no_other_format_and_no_other_text(runtime, kind, models, tmp_path):
    encoder = load_encoder(models[kind], cache_dir=tmp_path, runtime=runtime, precision="int8", threads=1)
    together = encoder.encode_formats(PADDED_TOGETHER, list(HEADS))
    for task_format, vectors in together.items():
        np.testing.assert_allclose(encoder.encode(PADDED_TOGETHER, task_format), vectors, atol=2e-5)
        one_by_one = [encoder.encode([text], task_format)[0] for text in PADDED_TOGETHER]
        np.testing.assert_allclose(one_by_one, vectors, atol=2e-5)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"plain"}))
def test_the_kinds_differ_by_format(kind, encoded):
    assert np.abs(np.subtract(*encoded(kind, "onnx", "fp32").values())).max() > 0.01


@pytest.mark.slow
def test_the_default_runtime_imports_no_torch(models, tmp_path):
    code = (
        "import sys; from pathlib import Path; from encoders.encoder import load_encoder; "
        "load_encoder(sys.argv[1], cache_dir=Path(sys.argv[2])).encode(['virus']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(models["plain"].folder), str(tmp_path)], check=True)


@pytest.mark.gpu
def test_gpus_give_what_onnxruntime_gives_on_the_cpu(encoded):
    there = [runtime for runtime in RUNTIMES.values() if runtime.device == "cuda" and usable(runtime)]
    assert there
    for runtime in there:
        for precision in runtime.precisions:
            for kind in KINDS:
                found = encoded(kind, runtime.name, precision)
                assert_alike(found, encoded(kind, "onnx", "fp32"), runtime.name, precision)


@pytest.mark.gpu
def test_auto_tries_gpus_too(models, tmp_path):
    load_encoder(models["plain"], cache_dir=tmp_path, runtime="auto", precision="fp32").encode(["virus"])
    (file,) = tmp_path.glob("graphs/*/winners.json")
    assert any("-cuda-" in name for name in json.loads(file.read_text())["seconds"]["bulk"])


def usable(runtime):
    if runtime.name == "torch-cuda":
        return is_installed(runtime) and __import__("torch").cuda.is_available()
    return "CUDAExecutionProvider" in __import__("onnxruntime").get_available_providers()


@pytest.mark.skipif(has_device(), reason="there is a GPU")
def test_without_a_gpu_auto_does_not_try_those_for_gpus():
    with_cuda, without = fastest_of([RUNTIMES["onnx-cuda"], RUNTIMES["onnx"]]), fastest_of([RUNTIMES["onnx"]])
    assert with_cuda.version("fp32", 0) == without.version("fp32", 0)


def test_each_runtime_has_its_precisions_packages_and_device():
    assert {name: (one.precisions, one.packages, one.device) for name, one in RUNTIMES.items()} == {
        "onnx": (("int8", "fp32"), ("onnxruntime",), "cpu"),
        "openvino": (("int8", "bf16", "fp32"), ("openvino",), "cpu"),
        "torch": (("fp32", "bf16"), ("torch",), "cpu"),
        "onnx-cuda": (("fp32",), ("onnxruntime",), "cuda"),
        "torch-cuda": (("bf16", "fp32"), ("torch",), "cuda"),
        "optimum": (("fp32",), ("optimum", "optimum.exporters.onnx"), "cpu"),
        "transformers": (("fp32", "bf16"), ("torch", "transformers"), "cpu"),
        "auto": (("int8", "bf16", "fp32"), (), "cpu"),
    }
    assert [one.name for one in RUNTIMES.values()] == list(RUNTIMES)


@pytest.mark.parametrize("name", RUNTIMES)
def test_each_runtime_is_that_of_its_module(name, monkeypatch):
    module = import_module(f"encoders.runtimes.{name.removesuffix('-cuda')}")
    for function in ("prepare", "load"):
        monkeypatch.setattr(module, function, lambda *given, function=function, **named: (function, given, named))
    runtime, named = RUNTIMES[name], {"device": "cuda"} if name.endswith("-cuda") else {}
    # auto chooses from all that can run any model.
    single = tuple(RUNTIMES[one] for one in ("onnx", "openvino", "torch", "onnx-cuda", "torch-cuda"))
    first = (single,) if name == "auto" else ()
    assert runtime.prepare(1, 2, 3) == ("prepare", (*first, 1, 2, 3), named)
    assert runtime.load(4, 5) == ("load", (*first, 4, 5), named)
    if name != "auto":
        assert runtime.version("fp32", 3) == ""


@pytest.mark.parametrize(
    ("name", "precision", "told"),
    [
        ("onnx", "bf16", "int8 or fp32"),
        ("torch", "int8", "fp32 or bf16"),
        ("onnx-cuda", "int8", "fp32"),
        ("torch-cuda", "int8", "bf16 or fp32"),
    ],
)
def test_a_precision_that_a_runtime_lacks_is_told(name, precision, told):
    with pytest.raises(InputError) as refused:
        get_runtime(name, precision)
    assert str(refused.value) == (
        f"The runtime {name} has no precision {precision}; choose precision {told}, or another runtime."
    )
