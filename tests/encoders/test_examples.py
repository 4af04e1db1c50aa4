"""The examples in the docstrings of public classes run as written."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = {
    "encoders.cache": ["EmbeddingCache"],
    "encoders.encoder": ["Encoder"],
    "encoders.files.embeddings": ["Embeddings"],
    "encoders.heads": ["Head"],
    "encoders.models.card": ["ModelCard"],
    "encoders.models.formats": ["Format"],
    "encoders.models.model": ["Model"],
    "encoders.text_encoder": ["TextEncoder"],
}
"""The classes with an example, by module."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples, so that a graph is built once."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    module = import_module(name)
    examples = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert [test.name.removeprefix(f"{name}.") for test in examples] == MODULES[name]
    runner = doctest.DocTestRunner()
    assert [runner.run(test).failed for test in examples] == [0] * len(examples), capsys.readouterr().out
