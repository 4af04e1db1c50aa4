"""The examples in the docstrings of the Python API run, and each public class and function has one."""

import doctest
from pathlib import Path

import pytest

import ses
from corpora.paper import Paper
from products.feeds.api import Feeds
from products.forecasts.api import Forecasts
from products.reviewers.api import Reviewers
from products.screening.api import Screening
from products.tags.api import Tags
from search_plugin.engines.registry import connect
from tests.beir_folders import write_beir
from tests.products import planted
from tests.tiny import make_model

# Training takes torch, and minutes: docs/training.md shows it.
NAMES = [name for name in ses.__all__ if not name.endswith("Error") and name != "train"]
PUBLIC = [*(getattr(ses, name) for name in NAMES), Feeds, Forecasts, Reviewers, Screening, Tags]


def write_judged(folder):
    """Write a folder in BEIR's form: two papers, and a query for each."""
    found = [Paper("a", "Masks and a virus"), Paper("b", "The lung")]
    write_beir(folder, found, {"1": "masks", "2": "lung"}, test={"1": {"a": 1}, "2": {"b": 1}})


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the examples find: a library with two indexes, in a folder with the tables that they read."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "authors.csv").write_text("id,title,name\n1,A virus,Ada Byron\n2,A lung,Ada Byron\n")
    (folder / "reviewers.csv").write_text("reviewer,id,title\nAda Byron,r1,Masks in hospitals\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SES_MODEL", str(make_model(folder / "model")))
        for name in ("data_dir", "cache_dir"):
            patch.setenv(f"SES_{name.upper()}", str(folder / name))
        planted.make_library(connect(f"embedded:{folder / 'data_dir' / 'indexes'}"), folder, planted.vectors(400))
        library = ses.open()
        library.index(
            "mine",
            [
                ses.Paper("a", "Masks and the spread of a virus", year=2020, venue="Nature"),
                ses.Paper("b", "The structure of a protein", year=2021, venue="The Lancet"),
                ses.Paper("c", "Virus and vaccine", "A trial.", year=2022, venue="The Lancet"),
            ],
        )
        make_model(folder / "other", seed=1)
        write_judged(folder / "judged")
        yield {"ses": ses, "library": library, "Path": Path}


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_the_example_runs(names, public):
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(public, public.__name__, module=False, globs=dict(names))
    assert example.examples, "give it an example of about three lines"
    report = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    assert "".join(report) == ""
