"""A page as a PHP script that uses Guzzle."""

from __future__ import annotations

from search_plugin.engines.cluster.frontends.languages.parts import explained
from search_plugin.engines.cluster.frontends.languages.program import OUTPUT, TITLE, Program
from search_plugin.engines.cluster.frontends.literals import Notation, escaped
from search_plugin.engines.cluster.frontends.script import PageScript

_text = escaped('\\"$')

NOTATION = Notation(
    text=_text,
    parameter=lambda parameter: f"${parameter.name}",
    pair=" => ",
    around=("[", "]"),
    empty="new stdClass()",
    last_comma=",",
)
"""How PHP writes JSON."""

_PROGRAM = Program(NOTATION, "//", "php")


def write(script: PageScript) -> str:
    """Return the script, which prints the page as JSON."""
    options = [f"'base_uri' => {_text(script.url)}"]
    if script.scheme:
        options.append(f"'headers' => ['Authorization' => {_PROGRAM.expression(script.scheme)}]")
    if script.certificates:
        options.append("'verify' => getenv('SES_ENGINE_CA')")
    comments = _PROGRAM.comments(TITLE.format(index=script.index), *explained(script), OUTPUT)
    made = f"$client = new GuzzleHttp\\Client([{', '.join(options)}]);"
    head = f"<?php\n{comments}\nrequire 'vendor/autoload.php';\n\n{made}\n"
    return _PROGRAM.write(script, head + _PROGRAM.section("ask"))
