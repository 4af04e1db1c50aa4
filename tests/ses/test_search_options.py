"""The description of a search's options, from which every interface is made."""

import dataclasses
import inspect

import pydantic
import pytest

from search_plugin.request import PageOptions, SearchRequest, make_request, search_options
from ses.indexes.open_index import OpenIndex
from ses.terminal.commands.search import search
from ses.terminal.commands.similar import similar

OPTIONS = {option.name: option for option in search_options()}


def test_a_request_has_every_option_with_its_default():
    request = {one.name for one in dataclasses.fields(SearchRequest)} - {
        "query",
        "words",
        "notes",
        "facet_typed",
        "whole",
        "near",
    }
    assert request | {"literal"} == OPTIONS.keys() == set(PageOptions.__annotations__)
    assert all(option.default == getattr(SearchRequest("a"), name, False) for name, option in OPTIONS.items())


def test_keyword_arguments_are_the_options():
    assert [*inspect.signature(OpenIndex.search).parameters][2:] == list(OPTIONS)


@pytest.mark.parametrize("command", [search, similar])
def test_a_command_has_every_option_that_can_be_typed(command):
    flags = {param.name for param in command.params}
    only = {name for name, option in OPTIONS.items() if option.search_only and command is similar}
    typed = {name for name, option in OPTIONS.items() if option.typed}
    assert flags & OPTIONS.keys() - {"synonyms"} == typed - only


def test_a_model_of_a_web_request_is_made_from_the_same_description():
    fields = {
        option.name: (option.type, pydantic.Field(option.default, description=option.help))
        for option in search_options()
        if option.typed
    }
    model = pydantic.create_model("SearchBody", **fields)
    properties = model.model_json_schema()["properties"]
    assert properties["size"] == {
        "default": 10,
        "description": OPTIONS["size"].help,
        "title": "Size",
        "type": "integer",
    }
    assert properties["mode"]["enum"] == ["lexical", "vector", "hybrid"]
    body = model.model_validate({"filter": "year>=2000", "facets": ["year"], "size": 3, "sort": "-year"})
    given = {name: getattr(body, name) for name in body.model_fields_set}
    assert make_request("masks", **given) == make_request(
        "masks", filter="year>=2000", facets=("year",), size=3, sort="-year"
    )
    with pytest.raises(pydantic.ValidationError, match="size"):
        model.model_validate({"size": "many"})
