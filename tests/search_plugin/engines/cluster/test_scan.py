import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.scan import split_index_url


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://localhost:9200/catalogue", ("http://localhost:9200", "catalogue")),
        ("https://a:9200,https://b:9200/books-2024.v1/", ("https://a:9200,https://b:9200", "books-2024.v1")),
    ],
)
def test_the_url_of_an_index(url, parts):
    assert split_index_url(url) == parts


@pytest.mark.parametrize(
    "url",
    ["http://localhost:9200", "http://localhost:9200/", "localhost:9200/a", "papers.csv", "", "/", "http://h/a b"]
    + [f"http://localhost:9200/{name}" for name in ("*", "_all", "-a", "a,b", "A", "a?b", "a#b", "a%2f*", "..")],
)
def test_what_is_no_url_of_an_index(url):
    with pytest.raises(InputError, match="is no URL of an index; write it as http://HOST:PORT/NAME"):
        split_index_url(url)


def test_a_password_is_not_shown():
    with pytest.raises(InputError) as caught:
        split_index_url("http://user:secret@localhost:9200/A")
    assert "secret" not in str(caught.value)
