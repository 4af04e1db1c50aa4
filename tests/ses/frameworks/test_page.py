"""docs/frameworks.md: every example runs, in the order of the page and in one folder."""

import re
from pathlib import Path

import pytest

from tests.tiny import make_model

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "frameworks.md"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A function that runs examples, and returns what they print."""
    make_model(tmp_path / "model")
    for name in ("model", "data_dir", "cache_dir"):
        monkeypatch.setenv(f"SES_{name.upper()}", str(tmp_path / name.removesuffix("_dir")))
    monkeypatch.chdir(tmp_path)

    def run(examples):
        names = {}
        for example in examples:
            exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - our own page
        return capsys.readouterr().out

    return run


@pytest.fixture
def examples():
    """The examples of the page by the heading above them."""
    parts = re.split(r"^#+ (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {
        heading: re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert {heading: len(some) for heading, some in found.items()} == dict.fromkeys(found, 1)
    assert len(found) == 8
    return {heading: some[0] for heading, some in found.items()}


@pytest.mark.frameworks
def test_every_other_example_runs(run, examples, monkeypatch):
    import ir_datasets

    monkeypatch.setattr(ir_datasets.registry, "_registered", dict(ir_datasets.registry._registered))
    printed = run(example for heading, example in examples.items() if heading != "Haystack")
    assert "a Masks and the spread of a virus" in printed
    assert "'Recall@10': 1.0" in printed


@pytest.mark.haystack
def test_the_example_of_haystack_runs(run, examples):
    printed = run([examples["Other libraries"], examples["Haystack"]])
    assert "Masks and the spread of a virus" in printed
