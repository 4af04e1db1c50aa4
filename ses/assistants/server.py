"""The tools as a server of the Model Context Protocol, by its official SDK."""

from __future__ import annotations

import functools
import inspect
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from corpora.errors import SesError
from corpora.installed import DISTRIBUTION, extra, needing
from corpora.lazy import orjson
from corpora.outgoing import json_text
from ses.assistants.tools import QUOTED, Assistant

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import MCPServer
    from mcp.types import CallToolResult
    from starlette.applications import Starlette

TOOLS = {
    "search": "Search papers",
    "fetch": "Read a paper",
    "similar": "Papers like one",
    "support": "Papers for a sentence",
    "indexes": "List indexes",
}
"""Methods of `Assistant` that are tools, and their titles."""

_LARGEST = 1 << 20
"""Bytes of a request over HTTP."""

_INSTRUCTIONS = (
    "Searches a library of scientific papers. `search` and `similar` find papers, `fetch` reads one, `support` finds "
    f"sentences near a claim. Nothing is written. {QUOTED} Give next_cursor as cursor to read on."
)


def make_server(assistant: Assistant, message_of: Callable[[SesError], str] = SesError.message) -> MCPServer:
    """Return the server of the tools; `UnavailableError` if the SDK is not installed.

    `message_of` returns what an assistant may know of an error.
    """
    with needing("Assistants need the SDK of the Model Context Protocol, which is not installed", extra("mcp")):
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    from ses.assistants.arguments import AnsweringTool

    hints = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    tools = [
        AnsweringTool.from_function(_answering(getattr(assistant, name), message_of), name, title, annotations=hints)
        for name, title in TOOLS.items()
    ]
    return MCPServer(
        "ses",
        instructions=_INSTRUCTIONS,
        version=version(DISTRIBUTION),
        tools=tools,
        log_level="WARNING",
        subscriptions=False,
    )


def http_app(assistant: Assistant) -> Starlette:
    """Return an application that serves the tools at `/mcp` over stateless streamable HTTP, to this machine alone.

    The SDK refuses names of other hosts (DNS rebinding) and pages of other sites.
    """
    app: Starlette = make_server(assistant).streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=_LARGEST, host="127.0.0.1"
    )
    return app


def _answering(
    function: Callable[..., dict[str, Any]], message_of: Callable[[SesError], str]
) -> Callable[..., CallToolResult]:
    """Return a tool of the SDK: the answer is JSON as text, and structured; an error is its sentence."""
    from mcp.types import CallToolResult, TextContent

    from ses.assistants.arguments import failed

    @functools.wraps(function)
    def answer(**given: Any) -> CallToolResult:
        try:
            found = function(**given)
        except SesError as error:
            return failed(message_of(error))
        text = json_text(orjson.dumps(found))
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=orjson.loads(text))

    signature = inspect.signature(function, eval_str=True)
    answer.__signature__ = signature.replace(return_annotation=CallToolResult)  # type: ignore[attr-defined]
    return answer
