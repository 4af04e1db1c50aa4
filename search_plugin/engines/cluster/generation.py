"""A version of an index, as the cluster shows it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_PHYSICAL = re.compile(r"ses\.(?P<name>[a-z0-9][a-z0-9_-]*)\.v(?P<generation>\d+)")


@dataclass(frozen=True, slots=True)
class Generation:
    """A physical index of ses: which version of which index, and what the cluster reports about it."""

    name: str
    number: int
    mappings: Mapping[str, Any]
    settings: Mapping[str, Any]
    aliases: frozenset[str]

    @property
    def published(self) -> bool:
        """Whether it is searched."""
        return self.name in self.aliases

    @property
    def previous(self) -> bool:
        """Whether it is kept for a rollback."""
        return previous_alias(self.name) in self.aliases

    @property
    def facts(self) -> Mapping[str, Any]:
        """The metadata of ses in it."""
        kept = self.mappings.get("_meta", {}).get("ses")
        return kept if isinstance(kept, Mapping) else {}

    @property
    def moment(self) -> float:
        """When it was published, in seconds since 1970; 0 if it is not known."""
        when = self.facts.get("published")
        return when if isinstance(when, float) else 0.0


def read_generations(reply: Mapping[str, Any]) -> list[Generation]:
    """Return the generations among the indexes of a reply, by what they are called there."""
    return [
        Generation(
            parts["name"],
            int(parts["generation"]),
            facts.get("mappings", {}),
            facts.get("settings", {}).get("index", {}),
            frozenset(facts.get("aliases", {})),
        )
        for physical, facts in reply.items()
        if (parts := _PHYSICAL.fullmatch(physical))
    ]


def previous_alias(name: str) -> str:
    """Return the alias of the generation that a rollback brings back."""
    return f"ses.{name}.previous"
