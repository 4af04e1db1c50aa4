"""Models written out for a runtime: self-describing, checked where they are loaded, and without weights or torch."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from corpora.installed import DISTRIBUTION
from encoders.encoder import load_encoder
from encoders.layouts.exported import EXPORT_FILE, export_model
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.test_shared_codes import drawn, write_codes
from tests.tiny import WORDS, make_model

TEXTS = ["", "virus", " ".join(WORDS[:17]), " ".join(WORDS * 4)]


@pytest.fixture
def plain(tmp_path):
    return make_model(tmp_path / "plain")


@pytest.fixture
def coded(tmp_path):
    make_model(tmp_path / "base")
    return write_codes(tmp_path / "coded", drawn(), base="../base")


def exported(model, folder, precision="fp32", **options):
    export_model(find_model(str(model)), folder, runtime="onnx", precision=precision, **options)
    return folder


@pytest.mark.parametrize("precision", ["int8", "fp32"])
@pytest.mark.parametrize("kind", ["plain", "coded"])
def test_an_export_gives_the_models_vectors_and_is_the_same_model(kind, precision, tmp_path, request):
    model = request.getfixturevalue(kind)
    folder = exported(model, tmp_path / "out", precision)
    before = load_encoder(str(model), cache_dir=tmp_path / "cache", precision=precision)
    after = load_encoder(str(folder), cache_dir=tmp_path / "unused")
    assert after.runtime == f"onnx-{precision}"
    assert after.card.fingerprint == before.card.fingerprint
    assert after.card.name == str(folder)
    for formats in ([Format.PRX], [Format.QRY], [Format.CLF, Format.RGN, Format.PRX], list(Format)):
        expected, found = (encoder.encode_formats(TEXTS, formats) for encoder in (before, after))
        for task_format in formats:
            np.testing.assert_allclose(
                found[task_format], expected[task_format], atol=1e-5 if precision == "fp32" else 0.5
            )
    assert not (tmp_path / "unused").exists()
    assert not list(folder.rglob("*.safetensors"))


@pytest.mark.slow
def test_an_export_loads_without_the_libraries_that_made_it(coded, tmp_path):
    folder = exported(coded, tmp_path / "out")
    program = f"""
import sys
for name in ("torch", "transformers", "openvino", "safetensors", "onnx"):
    sys.modules[name] = None
from pathlib import Path
from encoders.encoder import load_encoder
vectors = load_encoder({str(folder)!r}, cache_dir=Path({str(tmp_path)!r})).encode(["virus"])
print(vectors.shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "(1, 64)\n"


def test_only_the_wanted_formats_are_written(coded, tmp_path, monkeypatch):
    # The package index has a stranger's `ses`.
    versions = {"ses": "9", DISTRIBUTION: "1.2"}
    monkeypatch.setattr("encoders.layouts.exported.installed_version", versions.get)
    folder = exported(coded, tmp_path / "out", formats=[Format.PRX])
    assert json.loads((folder / EXPORT_FILE).read_text())["made_with"] == {DISTRIBUTION: "1.2"}
    encoder = load_encoder(str(folder), cache_dir=tmp_path)
    assert encoder.encode(["virus"], Format.PRX).shape == (1, 64)
    with pytest.raises(InputError, match="was exported without clf; export the model again"):
        encoder.encode(["virus"], Format.CLF)


def test_members_are_exported_with_the_whole(plain, coded, tmp_path):
    (tmp_path / "whole").mkdir()
    card = {"architecture": "ensemble", "members": [str(plain), str(coded)], "combine": "concat"}
    (tmp_path / "whole" / "ses_card.json").write_text(json.dumps(card))
    folder = exported(tmp_path / "whole", tmp_path / "out")
    expected = load_encoder(str(tmp_path / "whole"), cache_dir=tmp_path, precision="fp32").encode(TEXTS, Format.CLF)
    found = load_encoder(str(folder), cache_dir=tmp_path / "unused").encode(TEXTS, Format.CLF)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.shape == (4, 128)


def test_another_runtime_than_the_exports_is_refused(plain, tmp_path):
    folder = exported(plain, tmp_path / "out")
    for options in ({"runtime": "openvino"}, {"precision": "int8"}):
        with pytest.raises(InputError, match="was exported for onnx at fp32; leave out runtime and precision"):
            load_encoder(str(folder), cache_dir=tmp_path, **options)
    load_encoder(str(folder), cache_dir=tmp_path, runtime="onnx", precision="fp32").encode(["virus"])


def test_a_machine_that_gives_other_vectors_is_told(plain, tmp_path):
    folder = exported(plain, tmp_path / "out")
    file = folder / "ses_export.json"
    facts = json.loads(file.read_text())
    facts["checks"]["vectors"]["vector"][1][:32] = [3.0] * 32
    file.write_text(json.dumps(facts))
    with pytest.raises(
        InputError, match=r"gives other vectors here than where it was exported \(a cosine of .* to those"
    ):
        load_encoder(str(folder), cache_dir=tmp_path).encode(["virus"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.pop("card"), "is damaged (card: Field required); export the model again."),
        (lambda facts: facts["card"].update(dimension="many"), "is damaged (card.dimension: "),
        (lambda facts: facts["graphs"][0].update(folder="../plain"), "which is outside of it"),
        (lambda facts: facts["graphs"][0]["sha256"].update({"../../x": "00"}), "which is outside of it"),
        (lambda facts: facts["graphs"][0]["sha256"].update({"model.onnx": "00"}), "is not the file that was exported"),
        (lambda facts: facts["graphs"][0]["sha256"].update({"gone.onnx": "00"}), "is not the file that was exported"),
    ],
)
def test_a_damaged_export_is_told(change, message, plain, tmp_path):
    folder = exported(plain, tmp_path / "out")
    facts = json.loads((folder / "ses_export.json").read_text())
    change(facts)
    (folder / "ses_export.json").write_text(json.dumps(facts))
    with pytest.raises(InputError) as refused:
        find_model(str(folder))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_where_an_export_can_not_go_is_told(plain, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for folder in (tmp_path / "full", tmp_path / "full" / "file"):
        with pytest.raises(InputError, match="exists already; name an empty or a new folder"):
            exported(plain, folder)
    with pytest.raises(UnavailableError, match="can't be written"):
        exported(plain, tmp_path / "full" / "file" / "below")
    with pytest.raises(InputError, match="auto depends on the machine; export for one of those that it chooses from"):
        export_model(find_model(str(plain)), tmp_path / "auto", runtime="auto")
    with pytest.raises(InputError, match="is an export itself"):
        exported(exported(plain, tmp_path / "out"), tmp_path / "again")
    assert sorted(path.name for path in (tmp_path / "full").iterdir()) == ["file"]
