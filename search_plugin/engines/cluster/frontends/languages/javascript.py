"""A page as a JavaScript module, by fetch or by the product's own client."""

from __future__ import annotations

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation, json_string
from search_plugin.engines.cluster.frontends.script import VECTOR, PageScript


def _text(text: str) -> str:
    # A script in a page of HTML ends at its closing tag, also inside a text.
    return json_string(text).replace("<", "\\u003c")


_CLIENTS = {
    "opensearch": ('import {Client} from "@opensearch-project/opensearch";', ".body"),
    "elasticsearch": ('import {Client} from "@elastic/elasticsearch";', ""),
}

NOTATION = Notation(text=_text)
"""How JavaScript writes JSON."""

_PROGRAM = Program(NOTATION, "//", "js")


def write(script: PageScript) -> str:
    """Return the script with fetch, which prints the page as JSON."""
    authorization = f", Authorization: {_PROGRAM.expression(script.scheme)}" if script.scheme else ""
    return _written(script, [], _PROGRAM.section("fetch", url=_text(script.url), authorization=authorization))


def write_with_client(script: PageScript) -> str:
    """Return the script with the product's own client, which prints the page as JSON."""
    imported, body = _CLIENTS[script.product]
    headers = f", headers: {{authorization: {_PROGRAM.expression(script.scheme)}}}" if script.scheme else ""
    sending = _PROGRAM.section("client", url=_text(script.url), headers=headers, body=body)
    return _written(script, [imported], sending)


def _written(script: PageScript, imports: list[str], sending: str) -> str:
    reads_file = VECTOR in script.parameters and (not script.query_vector or script.query_vector.way == "table")
    if reads_file:
        imports = ['import {readFileSync} from "node:fs";', *imports]
    said = [*explained(script), OUTPUT]
    if script.certificates:
        said.append("Node reads that file only if NODE_EXTRA_CA_CERTS names it too.")
    comments = _PROGRAM.comments(TITLE.format(index=script.index), *said)
    imported = "".join(f"{line}\n" for line in imports)
    return _PROGRAM.write(script, comments + imported + sending + _PROGRAM.section("ask"))
