"""No public function raises anything but a `SesError`, whatever it is given."""

import builtins
import inspect
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import ses
from products.feeds.api import Feeds
from products.forecasts.api import Forecasts
from products.forecasts.training import ForecastOptions
from products.reviewers.api import Reviewers
from products.reviewers.matching import MatchingOptions
from products.screening.api import Screening
from products.tags.api import Tags
from products.tags.training import TaggerOptions
from search_plugin.request import PageOptions
from ses.argument_validation import _ELSEWHERE, _arguments, _resolved
from ses.training import Formats
from tests.tiny import make_model, papers

WRONG = [None, 1.5, -1, "", "\0", [], [None], {}, {"a": object()}, object(), b"a", print, float("nan"), True]

RIGHT = {
    "name": "papers",
    "index": "papers",
    "to": "copy",
    "target": "papers",
    "papers": papers(2),
    "paper": "p00001",
    "text": "A virus",
    "texts": ["A virus"],
    "what": "venues",
    "fields": {"shelf": "keyword"},
    "values": {"p00001": {}},
    "ids": ["p00002"],
    "labels": {"p00001": {"a": True}},
    "hierarchy": "labels.csv",
    "citations": "cited",
    "path": "papers.csv",
    "submissions": papers(2),
    "reviewer": "Ada Byron",
    "recipe": "recipe.toml",
    "topics": {"q1": "virus"},
    "qrels": {"q1": {"p00001": 1}},
    "folder": "runs",
}
"""A value of each argument that has no default."""

PARTS = {
    "library": ses.Library,
    "index": ses.OpenIndex,
    "model": ses.LoadedModel,
    "feeds": Feeds,
    "screening": Screening,
    "tags": Tags,
    "forecasts": Forecasts,
    "formats": Formats,
    "reviewers": Reviewers,
}

OPTIONS = {
    "index": list(PageOptions.__annotations__),
    "tags": [option.name for option in fields(TaggerOptions)],
    "forecasts": [option.name for option in fields(ForecastOptions)],
    "reviewers": [option.name for option in fields(MatchingOptions)],
}


def methods(kind):
    public = [name for name in dir(kind) if not name.startswith("_") or name in ("__getitem__", "__contains__")]
    return [name for name in public if inspect.isfunction(getattr(kind, name))]


FUNCTIONS = [(part, name) for part, kind in PARTS.items() for name in methods(kind)]
FUNCTIONS += [("ses", name) for name in ("open", "load_model", "cluster_authors", "train")]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "papers.csv").write_text("id,title,name\n1,A virus,Ada Byron\n2,A lung,Ada Byron\n")
    (folder / "labels.csv").write_text("label\nvirus\nlung\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("SES_MODEL", str(make_model(folder / "model")))
        for name in ("data_dir", "cache_dir"):
            patch.setenv(f"SES_{name.upper()}", str(folder / name))
        yield ses.open()


@pytest.fixture(scope="module")
def model(library):
    return ses.load_model()


@pytest.fixture
def parts(library, model):
    if "papers" not in library:  # a function was called that drops it
        library.index("papers", papers(6))
    for kept in (library.feeds, library.screening):
        if "papers" not in kept.names():
            kept.create("papers", index="papers")
    library.feeds.add("papers", liked=["p00001"])
    library.screening.label("papers", include="p00001", exclude="p00002", change=True)
    if "papers" not in library.tags:
        library.tags.from_names("papers", "papers", Path("labels.csv"))
    held = {"library": library, "index": library["papers"], "model": model, "ses": ses}
    return {**held, **{part: getattr(library, part) for part in PARTS.keys() - held.keys()}}


def call(function, arguments):
    try:
        function(**arguments)
    except ses.SesError as error:
        message = str(error)
        assert message.endswith("."), message
        assert len(message) < 1_000, message
        return message
    return ""


@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_a_wrong_argument_is_told(parts, part, name):
    function = getattr(parts[part], name)
    taken = inspect.signature(inspect.unwrap(function)).parameters.values()
    named = [one for one in taken if one.kind is not inspect.Parameter.VAR_KEYWORD and one.name != "self"]
    needed = {one.name: RIGHT.get(one.name, "papers") for one in named if one.default is one.empty}
    defaults = {one.name: one.default for one in named}
    for argument in [*defaults, *(OPTIONS.get(part, ()) if "options" in [one.name for one in taken] else ())]:
        for wrong in WRONG:
            if wrong is not defaults.get(argument, call):  # else it is not wrong
                call(function, {**needed, argument: wrong})
    if "venue" not in needed:  # which only another function makes
        assert "sise" in call(function, {**needed, "sise": 3})
    if needed:
        assert "missing a required argument" in call(function, {})
    with pytest.raises(ses.InputError, match="too many positional arguments"):
        function(*range(20))


SEARCHES = [
    ({"query": None}, "query can't be None; give a text."),
    ({"size": 1.5}, "size can't be 1.5; give a whole number."),
    ({"window": -1}, "window can't be -1; give a whole number from 1 to 10,000."),
    ({"size": True}, "size can't be True; give a whole number."),
    ({"exact": 1}, "exact can't be 1; give True or False."),
    ({"filter": {"a": 1}}, "filter can't be {'a': 1}; give a text or a list of texts."),
    ({"mode": "fast"}, "mode can't be 'fast'; give 'lexical' or 'vector' or 'hybrid'."),
    ({"weights": {"prx": "a"}}, "weights can't be {'prx': 'a'}; give a dictionary of numbers or a list of texts."),
    ({"colapse": "venue"}, "search takes no 'colapse', the nearest is collapse; it takes query, mode, fusion,"),
]

CALLS = [
    ("index.delete", {"ids": [3]}, "ids can't be [3]; give a list of texts."),
    ("model.encode", {"texts": [None]}, "texts can't be [None]; give a list of texts."),
    ("model.encode", {"texts": "a", "format": "prx,qry"}, "Only one format is possible here, not 'prx,qry'; give one"),
    ("library.index", {"name": "x", "papers": 3}, "Papers can't be of the type int; give a file or folder, a list of"),
    ("library.index", {"name": "x", "colums": {}}, "index takes no 'colums', the nearest is columns; it takes name,"),
    ("library.topics", {"name": "papers", "projection": "umap"}, "projection can't be 'umap'; give 'pca' or 'tsne'."),
    ("library.index", {"name": "x", "papers": [], "limit": 0}, "limit can't be 0; give a whole number of at least 1."),
    ("library.update", {"name": "papers", "values": {1: {}}}, "give a dictionary of dictionaries of values."),
    ("library.topics", {"name": "papers", "count": 0}, "count can't be 0; give a whole number of at"),
    ("index.similar", {"paper": 1}, "paper can't be 1; give a text or a Paper or a Hit."),
    (
        "index.suggest",
        {"what": "venues", "text": "a", "size": 0},
        "0 suggestions can't be made; give size of 1 or more.",
    ),
    ("model.encode_papers", {"papers": [{}]}, "papers can't be [{}]; give a list of Papers or Hits."),
    ("library.topics", {"name": "papers", "seed": -1}, "seed can't be -1; give a whole number of"),
    ("tags.train", {"name": "a", "index": "papers", "labels": "b", "fewst": 3}, "the nearest is fewest; it takes"),
    ("tags.train", {"name": "a", "index": "papers", "labels": {}}, "No paper is labelled; give labels."),
    ("tags.suggest", {"name": "papers", "index": "papers", "count": 0}, "count can't be 0; give a whole number of at"),
    (
        "tags.from_names",
        {"name": "a", "index": "papers", "hierarchy": "labels.csv", "most": 0},
        "at most 0 labels; give",
    ),
    ("ses.open", {"modell": "specter2"}, "There is no setting modell, the nearest is model; correct the argument."),
    ("ses.open", {"engine": "a\0"}, "engine can't be 'a\\x00'; give a text or a path."),
    ("ses.load_model", {"threads": "many"}, "The setting threads can't be 'many' (give a whole number from 0 to 1,024"),
]


@pytest.mark.parametrize(("function", "arguments", "told"), [*(("index.search", *one) for one in SEARCHES), *CALLS])
def test_the_sentence(parts, function, arguments, told):
    part, _, name = function.partition(".")
    assert told in call(getattr(parts[part], name), arguments)


def test_the_methods_of_progress_are_told(parts):
    told = call(parts["library"].rebuild, {"name": "papers", "progress": print})
    assert told.endswith("; give an object with the methods stage and advance.")


def test_plain_values_are_taken_for_what_they_mean(parts):
    index = parts["index"]
    page = index.search("virus", size=np.int64(2), exact=np.True_, facets=np.array(["year"]), title_boost=np.float32(1))
    assert (len(page), set(page.facets.counts), type(page.size)) == (2, {"year"}, int)
    assert index.delete({"zz"}) == index.delete("zz") == ["zz"]
    assert parts["library"].feeds.create("one", index="papers", liked="p00001").liked == ("p00001",)
    assert parts["model"].encode(np.array(["virus", "lung"])).shape == (2, 64)


def test_a_program_still_sees_the_functions_themselves():
    assert list(inspect.signature(ses.OpenIndex.search).parameters) == ["self", "query", *PageOptions.__annotations__]
    assert str(inspect.signature(ses.LoadedModel.encode)).startswith(
        "(self, texts: 'Sequence[str]', format: 'str' = 'prx'"
    )
    assert ses.OpenIndex.search.__doc__.startswith("Search by words")


UNCHECKED = {"Papers"}
"""Types whose values the function itself checks."""


@pytest.mark.parametrize(("part", "name"), FUNCTIONS)
def test_the_type_of_each_argument_is_known_when_it_is_given(part, name):
    function = inspect.unwrap(getattr(PARTS.get(part, ses), name))
    for annotation, module in _arguments(function).annotations.values():
        unknown = set(compile(annotation, "", "eval").co_names) - vars(sys.modules[module]).keys() - set(dir(builtins))
        assert unknown <= _ELSEWHERE.keys() | UNCHECKED
        assert _resolved(annotation, module) is not None
