"""A tool of the SDK that reads arguments as assistants write them, and answers wrong ones by a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent
from pydantic import ValidationError

from corpora.errors import InputError
from ses.argument_validation import nearest
from ses.wrong_values import sentences_of


class AnsweringTool(Tool):  # type: ignore[misc]  # the SDK is not installed where types are checked
    """A tool that answers wrong arguments by a sentence, where the SDK shows the text of pydantic."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002 - of the SDK
        """Run the tool with arguments."""
        try:
            given = self._read(arguments)
        except InputError as error:
            return failed(error.message())
        return await super().run(given, context, convert_result)

    def _read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments that are given; null stands for one that is not, and a whole number for its digits."""
        known = self.fn_metadata.arg_model.model_fields
        if unknown := next((name for name in arguments if name not in known), None):
            raise InputError(
                f"There is no argument {unknown[:80]}{nearest(unknown, known)}",
                f"{self.name} takes {', '.join(known) or 'none'}",
            )
        given = {
            name: str(value) if known[name].annotation is str and type(value) is int else value
            for name, value in arguments.items()
            if value is not None
        }
        try:
            self.fn_metadata.validate_arguments(given)
        except ValidationError as error:
            raise InputError(sentences_of([{**one, "loc": ("", *one["loc"])} for one in error.errors()])) from None
        return given


def failed(sentence: str) -> CallToolResult:
    """Return the answer that says what is wrong."""
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)
