"""The physical indexes of query words: one for each model and table, and an alias on that of the published papers.

The alias moves in the request that publishes a version of the papers, so no front end ever adds up words of one model
to search papers of another. While the words of a new model are written, there is no alias, and a front end finds none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.transport import Cluster

FORM = 3
"""What the documents are like: from 2 on, there are the pieces of words too; from 3 on, words have other spellings."""

_PHYSICAL = re.compile(r"ses\.words\.(?P<name>[a-z0-9][a-z0-9_-]*)\.v(?P<key>[0-9a-f]{16})")


@dataclass(frozen=True, slots=True)
class WordIndex:
    """A physical index of words, as the cluster describes it.

    Attributes:
        physical: Its name.
        name: Name of the index of papers.
        description: The text with the mark of ses.
        facts: What ses notes of it: `form` (1 if it is missing), `table`, `name` of the table, `vectors`, and when it
            is complete, `seen`.
        searched: Whether the alias is on it.
    """

    physical: str
    name: str
    description: str
    facts: Mapping[str, Any]
    searched: bool

    @property
    def seen(self) -> Mapping[str, list[int]]:
        """How far the papers were read, by the unique id of each index of them: `last` and `changes` of `Reached`."""
        found: Mapping[str, list[int]] = self.facts.get("seen", {})
        return found

    @property
    def complete(self) -> bool:
        """Whether all words of the papers were written once."""
        return "seen" in self.facts


def words_alias(name: str) -> str:
    """Return the name under which front ends ask for the words of an index."""
    return f"ses-{name}-words"


def physical_words(name: str, vectors: str, table: str) -> str:
    """Return the name of the index of words for the fingerprints of the papers' vectors and of the words' vectors."""
    return f"ses.words.{name}.v{hashlib.sha256(f'{vectors} {table} {FORM}'.encode()).hexdigest()[:16]}"


def writing_alias(physical: str) -> str:
    """Return the alias through which an index of words is written."""
    return f"{physical}.writing"


def find_word_indexes(cluster: Cluster, name: str) -> list[WordIndex]:
    """Return the indexes of words of an index of papers; of all whose names begin so, with a star at the end."""
    reply: Mapping[str, Any] = cluster.call("GET", f"/ses.words.{name}.v*", params={"expand_wildcards": "open,closed"})
    return [
        _read(physical, parts["name"], facts)
        for physical, facts in sorted(reply.items())
        if (parts := _PHYSICAL.fullmatch(physical))
    ]


def switching(cluster: Cluster, name: str, vectors: str) -> list[dict[str, Any]]:
    """Return the changes of aliases with which papers are published whose vectors have a fingerprint."""
    try:
        found = find_word_indexes(cluster, name)
    except ClusterError:
        # Who may publish papers may not see the words of front ends; then there are usually none.
        return []
    fitting = [one for one in found if one.complete and one.facts.get("vectors") == vectors]
    # Two tables of one model fit; the one that is searched stays.
    return moved(found, next((one for one in sorted(fitting, key=lambda one: not one.searched)), None))


def moved(found: Sequence[WordIndex], to: WordIndex | None) -> list[dict[str, Any]]:
    """Return the changes of aliases that put the alias of front ends on one of the indexes of words, or on none."""
    away = [
        {"remove": {"index": one.physical, "alias": words_alias(one.name)}}
        for one in found
        if one.searched and one != to
    ]
    there = [{"add": {"index": to.physical, "alias": words_alias(to.name)}}] if to and not to.searched else []
    return [*away, *there]


def _read(physical: str, name: str, described: Mapping[str, Any]) -> WordIndex:
    meta = described.get("mappings", {}).get("_meta", {})
    facts = meta.get("ses", {}).get("words", {})
    return WordIndex(
        physical, name, str(meta.get("description", "")), facts, words_alias(name) in described.get("aliases", {})
    )
