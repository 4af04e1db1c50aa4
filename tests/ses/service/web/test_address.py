"""Addresses of a page with other parameters."""

import pytest
from pydantic import TypeAdapter

from ses.service.web.address import PageAddress, PaperName, address

pytestmark = pytest.mark.serve

HERE = PageAddress("/ses/", (("query", "a b&c"), ("only", "venue:X"), ("only", "venue:Y"), ("offset", "20")))


def test_a_change_starts_again_at_the_first_hit():
    assert str(HERE.having(sort="title")) == "/ses/?query=a+b%26c&only=venue%3AX&only=venue%3AY&sort=title"
    assert str(HERE.lacking("only", "venue:X")) == "/ses/?query=a+b%26c&only=venue%3AY"
    assert str(HERE.lacking("only")) == "/ses/?query=a+b%26c"
    assert str(HERE.having(query="")) == "/ses/?only=venue%3AX&only=venue%3AY"
    assert str(HERE.having(offset=40)).endswith("offset=40")


def test_a_value_is_there_once():
    assert HERE.adding("only", "venue:X").pairs == (("query", "a b&c"), ("only", "venue:Y"), ("only", "venue:X"))
    assert HERE.other_than("only") == (("query", "a b&c"),)
    assert str(PageAddress("/")) == "/"


@pytest.mark.parametrize(
    "name", ["https://openalex.org/W1", "a/../b", "./a", "a%2Fb", "100%", "a/b%2Fc", "a//", "10.1/(a)b"]
)
def test_a_name_survives_a_proxy_that_unescapes_and_cleans_paths(name):
    from posixpath import normpath
    from urllib.parse import quote, unquote

    sent = unquote(address("/papers/", name=name, ending=".json"))
    passed_on = quote(normpath(sent.replace("//", "/")))
    for path in (sent, unquote(passed_on)):
        assert TypeAdapter(PaperName).validate_python(path.removeprefix("/papers/")) == f"{name}.json"
