"""What programs with requests say of themselves, in each language, without running them."""

from __future__ import annotations

import re

import pytest

from corpora.errors import InputError
from search_plugin.engines.cluster.frontends.http import HttpRequest, as_plain
from search_plugin.engines.cluster.frontends.languages.registry import LANGUAGES, get_language
from search_plugin.engines.cluster.frontends.script import PageScript

PROGRAMS = [name for name in LANGUAGES if name not in ("http", "json")]
SECRETS = {
    "ApiKey": ["SES_ENGINE_API_KEY"],
    "Bearer": ["SES_ENGINE_TOKEN"],
    "Basic": ["SES_ENGINE_USERNAME", "SES_ENGINE_PASSWORD"],
    "": [],
}


def script(scheme="", asked=(), *, certificates=False):
    request = HttpRequest("POST", "/papers/_search", as_plain({"size": 1}), "the page")
    values = {"vector": [0.5], "words": "masks"}
    source = "The vector is in vector.json."
    return PageScript(
        "http://h:1", "papers", "opensearch", scheme, certificates, (request,), None, None, values, asked, source
    )


def parts_of(language, made):
    """The comments of a program, and its other lines."""
    lines = get_language(language).write(made).splitlines()
    comments = [line for line in lines if line.lstrip().startswith(("#", "//"))]
    return " ".join(comments), " ".join(line for line in lines if line not in comments)


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("scheme", SECRETS)
def test_a_program_names_the_variables_that_it_reads(language, scheme):
    said, code = parts_of(language, script(scheme))
    names = SECRETS[scheme]
    assert re.findall(r"SES_ENGINE_\w+", said) == names
    assert set(re.findall(r"SES_ENGINE_\w+", code)) == set(names)
    assert (f"Credentials are in {' and '.join(names)} of the environment." in said) == bool(names)


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("certificates", [False, True])
def test_a_program_says_which_file_has_the_certificates(language, certificates):
    said, _ = parts_of(language, script(certificates=certificates))
    sentence = "SES_ENGINE_CA of the environment is the file of the certificates of the cluster."
    assert (sentence in said) == certificates
    assert "The page of a search in the index papers, by the requests of ses." in said


@pytest.mark.parametrize("language", PROGRAMS)
@pytest.mark.parametrize("asked", [(), ("vector",), ("words",), ("vector", "words")])
def test_a_program_says_where_the_vector_is_from_only_if_it_reads_it(language, asked):
    said, code = parts_of(language, script(asked=asked))
    assert ("The vector is in vector.json." in said) == ("vector" in asked)
    assert ("vector.json" in code) == ("vector" in asked)
    assert ("masks" in code) == ("words" in asked)


def test_a_language_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=f"can't be written in 'cobol'; choose one of {', '.join(LANGUAGES)}"):
        get_language("cobol")
