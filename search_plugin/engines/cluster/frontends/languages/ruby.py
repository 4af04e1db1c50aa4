"""A page as a Ruby script that uses the standard library alone."""

from __future__ import annotations

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation, escaped
from search_plugin.engines.cluster.frontends.script import PageScript

_text = escaped('\\"#')
_NOTATION = Notation(text=_text, pair=" => ", constants=("nil", "true", "false"), last_comma=",")
_PROGRAM = Program(_NOTATION, "#", "rb")


def write(script: PageScript) -> str:
    """Return the script, which prints the page as JSON."""
    title = _PROGRAM.comments(TITLE.format(index=script.index))
    comments = _PROGRAM.comments(*explained(script), OUTPUT)
    authorization = f', "Authorization" => {_PROGRAM.expression(script.scheme)}' if script.scheme else ""
    certificates = ', ca_file: ENV.fetch("SES_ENGINE_CA")' if script.certificates else ""
    asking = _PROGRAM.section("ask", authorization=authorization, certificates=certificates)
    made = f"URL = {_text(script.url)}"
    return _PROGRAM.write(script, f'{title}require "json"\nrequire "net/http"\n\n{comments}{made}\n{asking}')
