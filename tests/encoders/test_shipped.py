"""The models that come with ses: their files, and that each format differs where it was trained."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoders.encoder import load_encoder
from encoders.heads import read_heads
from encoders.models.formats import Format
from encoders.models.known import KNOWN_MODELS
from encoders.registry import DEFAULT_MODEL, SHIPPED, find_model

NAMES = sorted(folder.name for folder in SHIPPED.iterdir() if folder.is_dir())
LARGEST_FILE, LARGEST_MODEL = 5_000_000, 12_000_000
PAPERS = {
    "cs.CL": "Subword tokenization for low-resource machine translation [SEP] We train transformer language models on "
    "parallel text and measure BLEU on twelve languages.",
    "astro-ph": "Dust in the discs of young stars [SEP] Infrared spectra of galaxies show the redshift of emission "
    "lines and the mass of dust around protostars.",
}


@pytest.fixture(params=NAMES)
def folder(request):
    return SHIPPED / request.param


@pytest.fixture(scope="module")
def encoders(shared_cache):
    """Loads a model by name, once."""
    made = {}

    def load(name):
        if name not in made:
            made[name] = load_encoder(name, cache_dir=shared_cache, precision="fp32", threads=1)
        return made[name]

    return load


def trained(folder):
    adapters = json.loads((folder / "ses_card.json").read_text())["adapters"]
    return [one for one in Format if adapters[one.value]], [one for one in Format if not adapters[one.value]]


def test_what_ships_is_known_and_there_is_some():
    assert NAMES
    assert set(NAMES) <= KNOWN_MODELS.keys()
    assert DEFAULT_MODEL in KNOWN_MODELS


def test_files_are_small_and_run_no_code(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".md"}
    assert max(path.stat().st_size for path in files) < LARGEST_FILE
    assert sum(path.stat().st_size for path in files) <= LARGEST_MODEL
    for path in folder.rglob("*.safetensors"):
        assert all(np.isfinite(one).all() for one in load_file(path).values())


def test_the_card_tells_what_users_must_know(folder):
    told = (folder / "README.md").read_text()
    for heading in ("Formats", "Data", "Made by", "Measures", "Limits"):
        assert f"## {heading}\n" in told
    assert "](" not in told or "http" in told  # links to files would be broken once it is installed


def test_it_is_found_by_name_with_its_base(folder):
    model = find_model(folder.name)
    assert (model.card.name, model.card.licence) == (folder.name, "Apache-2.0")
    assert model.card.formats == tuple(Format)
    assert model.base.card.name == "all-MiniLM-L6-v2"


@pytest.mark.slow
def test_trained_formats_differ_and_the_others_are_the_bases(folder, encoders, sentences):
    differ, plain = trained(folder)
    assert differ
    made = encoders(folder.name).encode_formats(sentences, list(Format))
    base = encoders("all-MiniLM-L6-v2").encode(sentences, Format.PRX)
    for task_format in plain:
        np.testing.assert_allclose(made[task_format], base, atol=1e-5)
    vectors = [base, *(made[task_format] for task_format in differ)]
    for number, one in enumerate(vectors):
        for other in vectors[:number]:
            assert (one * other).sum(axis=1).mean() < 0.99
    for one in vectors:
        np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)


def test_heads_read_fields_and_expected_citations(folder, encoders):
    heads, encoder = read_heads(folder), encoders(folder.name)
    for head in heads.values():
        vectors = encoder.encode(list(PAPERS.values()), head.format)
        said = head.predict(vectors)
        assert said.shape == (len(PAPERS), len(head.labels) or 1)
        assert np.isfinite(said).all()
    categories = heads["categories"]
    for label, text in PAPERS.items():
        chances = categories.predict(encoder.encode([text], categories.format))[0]
        best = [categories.labels[number] for number in np.argsort(-chances)[:3]]
        assert any(one.startswith(label) for one in best), best
    expected = heads["citations"].predict(encoder.encode(list(PAPERS.values()), heads["citations"].format))
    assert (expected > 0).all()
    assert (expected < 8).all()  # of log(1 + citations)


@pytest.mark.adapters
@pytest.mark.filterwarnings("ignore")
def test_the_library_reads_each_adapter_whole(folder):
    import adapters
    from transformers import AutoModel

    model = AutoModel.from_pretrained(str(find_model("all-MiniLM-L6-v2").folder))
    adapters.init(model)
    for task_format in trained(folder)[0]:
        told = {}
        place = folder / json.loads((folder / "ses_card.json").read_text())["adapters"][task_format.value]
        model.load_adapter(str(place), use_safetensors=True, loading_info=told)
        assert not any(told.values())


def test_a_copy_of_the_folder_is_the_same_model(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert find_model(str(copy)).card.fingerprint == find_model(folder.name).card.fingerprint
