"""Taggers that come with ses: their files, and that they suit the default model."""

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.registry import DEFAULT_MODEL, find_model
from products.tags.tagger import SHIPPED, read_tagger
from products.trained import names_in

PAPERS = {
    "cs.CL": ("Subword tokenization for low-resource machine translation", "We train transformer language models."),
    "cs": ("Branch prediction in processors", "We measure caches and pipelines of a new computer architecture."),
    "astro-ph.GA": ("Dust in the discs of young galaxies", "Spectra of galaxies show the redshift of emission lines."),
}


def test_files_are_small_and_run_no_code():
    files = [path for path in SHIPPED.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".md", ".safetensors"}
    assert sum(path.stat().st_size for path in files) < 1_000_000


@pytest.mark.parametrize("name", names_in([SHIPPED]))
def test_it_is_of_the_default_model_and_measured(name):
    tagger = read_tagger(SHIPPED / name)
    card = find_model(DEFAULT_MODEL).card
    assert (tagger.source.model, tagger.source.fingerprint) == (card.name, card.fingerprint)
    assert tagger.measures.papers > 1_000
    assert tagger.measures.ece < 0.05
    assert "| data | licence |" in (SHIPPED / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_tags_papers_of_its_fields(shared_cache):
    tagger = read_tagger(SHIPPED / "arxiv")
    encoder = load_encoder(DEFAULT_MODEL, cache_dir=shared_cache, threads=1)
    texts = [encoder.card.text(title, abstract) for title, abstract in PAPERS.values()]
    given = tagger.tags(np.asarray(encoder.encode(texts, tagger.source.format)))
    for label, tags in zip(PAPERS, given, strict=True):
        assert label in tags
        assert label.partition(".")[0] in tags
