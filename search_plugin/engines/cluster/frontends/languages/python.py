"""A page as a Python script that uses the product's own client."""

from __future__ import annotations

from collections.abc import Mapping

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import PageScript, VectorWay

_CLIENTS = {
    "opensearch": ("from opensearchpy import OpenSearch", "OpenSearch", "client.transport.perform_request", ""),
    "elasticsearch": ("from elasticsearch import Elasticsearch", "Elasticsearch", "client.perform_request", ".body"),
}
_MODULES: Mapping[VectorWay, tuple[str, ...]] = {
    "words": ("re", "unicodedata"),
    "table": ("re", "struct"),
    "feedback": (),
    "service": ("urllib.request",),
}

_NOTATION = Notation(text=repr, constants=("None", "True", "False"), last_comma=",")
_PROGRAM = Program(_NOTATION, "#", "py.txt", between="\n\n")


def write(script: PageScript) -> str:
    """Return the script, which prints the page as JSON."""
    imported, client, send, body = _CLIENTS[script.product]
    options = [repr(script.url)]
    if script.scheme:
        options.append(f'headers={{"authorization": {_PROGRAM.expression(script.scheme)}}}')
    if script.certificates:
        options.append('ca_certs=os.environ["SES_ENGINE_CA"]')
    title = _PROGRAM.comments(TITLE.format(index=script.index))
    comments = _PROGRAM.comments(*explained(script), OUTPUT)
    made = f"client = {client}({', '.join(options)})"
    modules = {"base64", "json", "os"}
    if script.query_vector:
        modules |= {*_MODULES[script.query_vector.way], "sys"}
    if script.spelled:
        modules.add("re")
    if script.neighbours:
        modules.add("operator")
    needed = "".join(f"import {name}\n" for name in sorted(modules))
    head = f"{title}{needed}\n{imported}\n\n{comments}{made}\n"
    return _PROGRAM.write(script, head + _PROGRAM.section("ask", send=send, body=body))
