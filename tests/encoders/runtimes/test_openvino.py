"""OpenVINO gives onnxruntime's vectors, and keeps standard output clean."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from tests.tiny import WORDS, make_model

pytestmark = pytest.mark.openvino


def test_fp32_equals_onnxruntime_on_the_real_model(minilm, sentences):
    vectors = [minilm(runtime, "fp32").encode(sentences) for runtime in ("openvino", "onnx")]
    np.testing.assert_allclose(*vectors, atol=1e-4)


@pytest.mark.slow
def test_int8_stays_close_to_fp32_on_the_real_model(minilm, sentences):
    int8, fp32 = minilm("openvino", "int8").encode(sentences), minilm("onnx", "fp32").encode(sentences)
    assert not np.array_equal(int8, fp32)
    assert (int8 * fp32).sum(axis=1).mean() >= 0.99


def test_building_int8_writes_nothing_on_standard_output(tmp_path, capfd):
    texts = ["virus", " ".join(WORDS)]
    encoder = load_encoder(str(make_model(tmp_path / "m")), cache_dir=tmp_path, runtime="openvino", precision="int8")
    assert np.isfinite(encoder.encode(texts)).all()
    assert capfd.readouterr().out == ""


def test_nobody_is_told_of_imports_and_conversions(tmp_path):
    code = (
        "import os, sys; from pathlib import Path; from encoders.encoder import load_encoder\n"
        "told = 'os.fork', 'socket.connect', 'subprocess.Popen'\n"
        "sys.addaudithook(lambda event, _: event in told and os.write(1, event.encode()))\n"
        "load_encoder(sys.argv[1], cache_dir=Path(sys.argv[2]), runtime='openvino').encode(['virus'])"
    )
    # In others' CI, OpenVINO would keep silent by itself.
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "TF_BUILD", "JENKINS_URL")}
    command = [sys.executable, "-c", code, make_model(tmp_path / "m"), tmp_path]
    assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout == b""


def test_a_damaged_file_is_told(tmp_path):
    model = str(make_model(tmp_path / "m"))
    load_encoder(model, cache_dir=tmp_path, runtime="openvino", precision="fp32").encode(["virus"])
    (file,) = (tmp_path / "graphs").glob("*/model.xml")
    file.write_text("<net")
    with pytest.raises(InputError, match="holds an incomplete OpenVINO model; delete it, and it is created again"):
        load_encoder(model, cache_dir=tmp_path, runtime="openvino", precision="fp32").encode(["virus"])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_missing_package_is_told(precision, tmp_path, monkeypatch):
    model = str(make_model(tmp_path / "m"))
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[openvino\]'"):
        load_encoder(model, cache_dir=tmp_path, runtime="openvino", precision=precision).encode(["virus"])
    assert list((tmp_path / "graphs").iterdir()) == []
