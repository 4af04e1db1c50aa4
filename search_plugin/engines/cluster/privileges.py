"""Which right a user of a cluster lacks, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SEEING = ("read", "view_index_metadata")
"""The privileges by which a user sees an index; a request by pattern silently leaves out what the user may not see."""

_GRANTED_BY = re.compile(r"granted by the (?P<scope>index|cluster) privileges \[(?P<names>[^\]]+)\]")
_ON = re.compile(r"on indices \[([^\]]+)\]")
_NO_PERMISSIONS = re.compile(r"no permissions for \[([^\]]+)\]")


def lacking(reason: str) -> str:
    """Return the right that a refused request needed, from the cluster's reason; empty if it names none.

    Elasticsearch names privileges that grant the action. OpenSearch's security plugin names the permission itself.
    """
    if granted := _GRANTED_BY.search(reason):
        # All rights are more than anybody should ask for.
        names = [name for name in granted["names"].split(",") if name != "all"] or ["all"]
        on = _ON.search(reason)
        where = " on " + ", ".join(on[1].split(",")) if on else ""
        return f"{_named(granted['scope'] + ' privilege', names)}{where} is missing"
    if lacks := _NO_PERMISSIONS.search(reason):
        return f"{_named('permission', lacks[1].split(','))} is missing"
    return ""


def unseen(reply: Mapping[str, Any]) -> str:
    """Return what a user lacks to see some indexes, from the reply to a question for `SEEING`; empty if nothing."""
    for name, held in reply.get("index", {}).items():
        if missing := [privilege for privilege in SEEING if not held.get(privilege, True)]:
            return f"the index privilege {' and '.join(missing)} on {name} is missing"
    return ""


def _named(kind: str, names: Sequence[str]) -> str:
    return f"the {kind} {names[0].strip()}" if len(names) == 1 else f"one of the {kind}s {', '.join(names)}"
