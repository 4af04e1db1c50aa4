"""The real model, built once a test run, and sentences for it (none is among the sample texts)."""

from __future__ import annotations

import pytest

import encoders.models.hub
from encoders.encoder import load_encoder


@pytest.fixture(autouse=True)
def hub_lock(monkeypatch, tmp_path):
    """A lock of the hub's repositories of its own for each test, whose invented repositories share names."""
    path = tmp_path / "hub-lock" / "ses-models.json"
    monkeypatch.setattr(encoders.models.hub, "lock_file", lambda: path)
    return path


@pytest.fixture(scope="session")
def sentences():
    """Titles, abstracts and queries, some beyond the real model's 256 tokens."""
    titles = [
        "Aspirin for primary prevention of cardiovascular events in older adults",
        "Household transmission of influenza during the 2018 season: a cohort study",
        "Learned sparse retrieval rivals dense encoders on long queries",
        "Error correction with superconducting qubits below the threshold",
        "Ocean heat content and the slowdown of surface warming",
        "mRNA vaccine boosters and neutralizing antibodies against new variants",
        "effect of vitamin d on bone density",
        "which drugs lower the risk of kidney failure in diabetes?",
    ]
    abstracts = [
        "We followed 1,204 participants for three years and recorded every admission to hospital.",
        "Results were robust to the choice of priors; code and data are available on request.",
        "Mice lacking the receptor gained 12% more weight (p = 0.003) on the same diet.",
        "Precision at ten improved from 0.41 to 0.47, mostly on queries with rare terms.",
    ]
    short = [f"{title} [SEP] {abstract}" for title in titles[:4] for abstract in abstracts]
    long = [f"{title} [SEP] {' '.join(abstracts * count)}" for count, title in enumerate(titles, start=1)]
    return [*titles, *short, *long]


@pytest.fixture(scope="session")
def minilm(shared_cache):
    """Loads all-MiniLM-L6-v2 for a runtime and precision."""
    given = {"cache_dir": shared_cache, "threads": 1}
    return lambda runtime, precision: load_encoder("all-MiniLM-L6-v2", runtime=runtime, precision=precision, **given)
