"""Requests as they are, in the form that Kibana's and OpenSearch Dashboards' consoles take."""

from __future__ import annotations

from search_plugin.engines.cluster.frontends.http import HttpRequest
from search_plugin.engines.cluster.frontends.languages.parts import check_reading, explained, filled, lines_of
from search_plugin.engines.cluster.frontends.languages.program import TITLE
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import PageScript

_NOTATION = Notation(parameter=lambda parameter: f"{{{{{parameter.name}}}}}")


def write(script: PageScript) -> str:
    """Return the requests; parameters are names in double braces."""
    check_reading(script)
    parts = [f"# {sentence}" for sentence in (TITLE.format(index=script.index), *explained(script))]
    parts += [_request(request, script) for request in script.searches]
    if script.neighbours:
        best = _request(script.neighbours.request, script)
        parts.append(f"# Then ses joins the legs; these are the papers that were best now.\n{best}")
    if script.papers:
        then = "Then neighbours count" if script.neighbours else "Then ses joins the legs"
        papers = _request(script.papers, script)
        parts.append(f"# {then}; these are the papers that were found now.\n{papers}")
    return "\n\n".join(parts) + "\n"


def _request(request: HttpRequest, script: PageScript) -> str:
    lines = lines_of(HttpRequest(request.method, request.path, filled(request.body, script)))
    body = "\n".join(_NOTATION.write(line, None if len(lines) > 1 else "") for line in lines)
    return f"# {request.why}\n{request.method} {request.path}\n{body}"
