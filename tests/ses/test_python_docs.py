"""docs/python.md: every example runs, in the order of the page and in one folder, and every public name is there."""

import dataclasses
import functools
import inspect
import re
from pathlib import Path

import pytest

import ses
from indexer.options import IndexOptions
from products.feeds.api import Feeds
from products.forecasts.api import Forecasts
from products.forecasts.training import ForecastOptions
from products.reviewers.api import Reviewers
from products.reviewers.matching import MatchingOptions
from products.screening.api import Screening
from products.tags.api import Tags
from products.tags.training import TaggerOptions
from search_plugin.request import PageOptions
from ses.indexes.cluster_tools import ClusterTools
from ses.training import Formats
from tests.tiny import make_model

PAGE = Path(__file__).parents[2] / "docs" / "python.md"

CALLED = {
    "ses": ses,
    "library": ses.Library,
    "index": ses.OpenIndex,
    "model": ses.LoadedModel,
    "library.cluster": ClusterTools,
    "library.feeds": Feeds,
    "library.screening": Screening,
    "library.tags": Tags,
    "library.forecasts": Forecasts,
    "library.formats": Formats,
    "library.reviewers": Reviewers,
}
"""How the page calls what has public functions."""

ENGINES_OWN = {"index.index"}
"""What is public for other packages of ses alone."""


@pytest.mark.slow
def test_every_example_of_the_page_runs(tmp_path, monkeypatch, capsys):
    make_model(tmp_path / "model")
    for name in ("model", "data_dir", "cache_dir"):
        monkeypatch.setenv(f"SES_{name.upper()}", str(tmp_path / name.removesuffix("_dir")))
    (tmp_path / "metadata.csv").write_text("key,title,year\nx,A virus,2020\ny,A protein,2021\n")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(examples) >= 8
    names = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "1 Masks and the spread of a virus" in printed
    assert "(('Nature', 1), ('The Lancet', 1))" in printed
    assert "(('masks', 1), ('schools', 1))" in printed
    assert "hybrid - lexical" in printed
    assert "not found There is no index 'other'" in printed


def public(kind):
    """Yield the public attributes of a class or module, by name."""
    names = ses.__all__ if kind is ses else [name for name in dir(kind) if not name.startswith("_")]
    yield from ((name, inspect.getattr_static(kind, name) if kind is not ses else getattr(ses, name)) for name in names)


def written(call, function):
    """How the page writes a function: with the names of all its arguments."""
    taken = [one for one in inspect.signature(inspect.unwrap(function)).parameters.values() if one.name != "self"]
    return f"| `{call}({', '.join(str(one).partition(':')[0].partition('=')[0] for one in taken)})` |"


@pytest.mark.lint
@pytest.mark.parametrize("called", CALLED)
def test_every_public_function_is_there_with_its_arguments(called):
    page = PAGE.read_text()
    for name, held in public(CALLED[called]):
        if inspect.isfunction(held):
            assert written(f"{called}.{name}", held) in page
        elif isinstance(held, property | functools.cached_property):
            assert f"| `{called}.{name}` |" in page or f"{called}.{name}" in ENGINES_OWN


@pytest.mark.lint
@pytest.mark.parametrize("kind", [ses.Page, ses.Hit, ses.Paper, ses.IndexReport, ses.AuthorClusters, ses.Evaluation])
def test_every_attribute_of_a_result_is_there(kind):
    section = PAGE.read_text().partition(f"### `ses.{kind.__name__}`")[2].partition("\n### ")[0]
    names = {one.name for one in dataclasses.fields(kind)}
    for name, held in public(kind):
        assert (written(name, held) if inspect.isfunction(held) else f"| `{name}` |") in section
        names.discard(name)
    assert [name for name in names if f"| `{name}` |" not in section] == []


@pytest.mark.lint
def test_every_name_and_every_option_is_there():
    page = PAGE.read_text()
    assert [name for name in ses.__all__ if f"`ses.{name}" not in page and f"`{name}`" not in page] == []
    for title, described in (("a page", PageOptions), ("indexing", IndexOptions)):
        options = page.partition(f"### Options of {title}")[2].partition("\n### ")[0]
        assert re.findall(r"^\| `(\w+)` \|", options, re.MULTILINE) == list(described.__annotations__)
    for kind in (TaggerOptions, ForecastOptions, MatchingOptions):
        listed = [f"`{one.name}`" for one in dataclasses.fields(kind)]
        assert f"are {', '.join(listed[:-1])} and {listed[-1]} (" in page
