"""Requests as commands of a shell, by curl."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote

from corpora.errors import require
from search_plugin.engines.cluster.frontends.http import HttpRequest, SpelledWords
from search_plugin.engines.cluster.frontends.languages.parts import content_type, explained, filled, lines_of
from search_plugin.engines.cluster.frontends.languages.program import TITLE
from search_plugin.engines.cluster.frontends.languages.sources import PARTS, source_of
from search_plugin.engines.cluster.frontends.literals import Notation, json_string
from search_plugin.engines.cluster.frontends.script import TABLE_FILE, VECTOR, WORDS, PageScript, QueryVector

_EXPANDED = re.compile(r"[\\$`]")
_AUTHORIZATION = {
    "ApiKey": "ApiKey $SES_ENGINE_API_KEY",
    "Bearer": "Bearer $SES_ENGINE_TOKEN",
    "Basic": 'Basic $(printf %s "$SES_ENGINE_USERNAME:$SES_ENGINE_PASSWORD" | base64 | tr -d "\\n")',
}

_NEIGHBOURS = "# Neighbours count too, by the vectors of the best {pool} papers; that request is left out here.\n"
_LOOKED_UP = """look_up() {{
{command}
}}
terms=$(words words "$text")
known=$(look_up)
terms=$(printf %s "[$known]" | words pieces "$text")
[ "$terms" = "[]" ] || known="$known,$(look_up)"
vector=$(printf %s "[$known]" | words vectors "$text" | direction)"""

_SPELLED = """spelled=$(printf %s "[{known}]" | spellings spelled "$text")"""


def write(script: PageScript) -> str:
    """Return the commands; what lies between the requests of legs and of papers is said, since curl can't do it."""
    head = [f"# {sentence}" for sentence in (TITLE.format(index=script.index), *explained(script))]
    made = script.query_vector
    require(
        not (made and script.papers),
        "curl can't join the legs of a search for other words",
        "choose <join=engine>, or a programming language",
    )
    if made:
        head += _vector(script, made)
    elif VECTOR in script.parameters:
        head.append("vector=$(cat vector.json)")
    if WORDS in script.parameters and not made:
        head += ["# The words are a JSON string.", f"words={quote(json_string(script.values[WORDS]))}"]
    parts = ["\n".join(head)] if head else []
    parts += [_command(request, script) for request in script.searches]
    if script.papers:
        parts.append(
            "# Then ses joins the legs, which curl does not; choose a language to have the code for it.\n"
            + (_NEIGHBOURS.format(pool=script.neighbours.pool) if script.neighbours else "")
            + "# So these are the papers that were found now.\n"
            + _command(script.papers, script)
        )
    return "\n\n".join(parts) + "\n"


def _vector(script: PageScript, made: QueryVector) -> list[str]:
    """Return the commands that make the vector of the words that the script was given; perl calculates."""
    functions = [
        f"{name}() {{ perl -MEncode -MJSON::PP -e '\n{source_of(name, 'pl')}' -- \"$@\"; }}"
        for name in (*PARTS[made.way], *(["spellings"] if script.spelled else []))
    ]
    spelled = [_SPELLED.format(known="$known" if made.way == "words" else "")] if script.spelled else []
    head = [
        "set -e",
        f"text=${{1-{quote(script.values[WORDS])}}}",
        "words=$(perl -MJSON::PP -e 'print JSON::PP->new->allow_nonref->encode($ARGV[0])' -- \"$text\")",
        *functions,
    ]
    if made.way == "words" and made.request:
        return [*head, _LOOKED_UP.format(command=_command(made.request, script)), *spelled]
    head += spelled
    if made.request is None:
        return [*head, f'vector=$(table {TABLE_FILE} "$text")']
    if made.way == "service":
        service = replace(script, url="", scheme="", certificates=False)
        reading = """perl -MJSON::PP -e 'local $/; print encode_json(decode_json(<STDIN>)->{vectors}[0])'"""
        command = _command(made.request, service, reading, '"${SES_SERVICE-http://127.0.0.1:8765}"')
    else:
        command = _command(made.request, script, f"direction {quote(made.field)}" if made.field else "direction")
    return [*head, f"vector=$({command}\n)"]


def _command(request: HttpRequest, script: PageScript, pipe: str = "", place: str = "") -> str:
    options = [
        f"curl -sS --fail-with-body -X {request.method} {place}{quote(script.url + request.path)}",
        f"-H 'Content-Type: {content_type(request)}'",
    ]
    if script.certificates:
        options.append('--cacert "$SES_ENGINE_CA"')
    documents = ""
    if script.scheme:
        # Other users of a machine can read the arguments of a command.
        options.append("--config /dev/fd/3 3<<CONFIG")
        documents = f'header = "Authorization: {_AUTHORIZATION[script.scheme]}"\nCONFIG\n'
    # In a document with a quoted name, the shell replaces nothing.
    options.append(
        "--data-binary @- " + ("<<JSON" if script.parameters else "<<'JSON'") + (f" | {pipe}" if pipe else "")
    )
    return f"# {request.why}\n" + " \\\n  ".join(options) + f"\n{documents}{_body(request, script)}\nJSON"


def _body(request: HttpRequest, script: PageScript) -> str:
    if not script.parameters:
        notation = Notation()
    else:
        notation = Notation(
            text=lambda text: _EXPANDED.sub(lambda found: f"\\{found[0]}", json_string(text)),
            parameter=lambda parameter: f"${parameter.name}",
            matching=_matching,
        )
    lines = lines_of(HttpRequest(request.method, request.path, filled(request.body, script)))
    return "\n".join(notation.write(line, None if len(lines) > 1 else "") for line in lines)


def _matching(place: SpelledWords) -> str:
    """Return the substitution of a command: perl makes the query."""
    return f'$(spellings matching "$spelled" {quote(Notation().write(place.fields, None))} {place.boost})'
