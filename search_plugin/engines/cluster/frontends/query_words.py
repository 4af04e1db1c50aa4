"""Vectors of words in a cluster: front ends add up those of a query's words, and need no model and no service.

Each word is a document: its id is the word, and its `_source` has the vector. Nothing is indexed but the ids, so it
takes disk and no heap. The words are those of the papers, their other spellings, and the pieces of words in the table's
vocabulary, which are marked as such (`piece`): of these, front ends make the words that are not there. Words also have
the other spellings that a rule makes of them (`spellings`), which ses would search too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from corpora.errors import InputError
from encoders.word_vectors import LONGEST, WordVectors, short_decimals, words_of
from search_plugin.engines.cluster import bulk
from search_plugin.engines.cluster.changes import Reached, changed_since, reached
from search_plugin.engines.cluster.dialect import QueryBody
from search_plugin.engines.cluster.documents import BulkRequest
from search_plugin.engines.cluster.errors import ClusterError, ignoring_missing
from search_plugin.engines.cluster.frontends.artifacts import Artifact, mark_of, marked_index
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.physical import create_index, delete_index, find_indexes, read_generations
from search_plugin.engines.cluster.transport import Cluster
from search_plugin.engines.cluster.word_indexes import (
    FORM,
    WordIndex,
    find_word_indexes,
    moved,
    physical_words,
    words_alias,
    writing_alias,
)
from search_plugin.understanding.expansion import by_rules

COMMON = 125_000
"""Most words of the table's vocabulary that are kept whether or not a paper has them: all of any common model."""

MOST = 250_000
"""Most words of an index, the most frequent ones: about 250 MB."""

_ASKED = 5_000
"""Words that are looked up together, and whose vectors are made together: about 15 MB as JSON."""

_WRITTEN = 1_000
"""Words in a bulk request: about 3 MB."""

_SETTINGS = {
    "number_of_shards": 1,
    "auto_expand_replicas": "0-1",
    # Numbers as text: a quarter of their size.
    "codec": "best_compression",
    # Documents are asked for by id alone, which needs no refresh.
    "refresh_interval": "-1",
}


def query_words(index: ClusterIndex, vectors: WordVectors) -> QueryWords:
    """Return the words of an index, with vectors for its first leg, which front ends search."""
    made_by = index.schema.beside(index.schema.legs[0]) or index.schema
    return QueryWords(words_alias(index.name), index, vectors, made_by.fingerprint)


@dataclass(frozen=True)
class QueryWords(Artifact):
    """The vectors of words.

    Attributes:
        index: The index of papers; None where words are only to be removed.
        vectors: Makes the vectors.
        searched: Fingerprint of the papers' vectors that queries are compared with.
        kind: What it is.
    """

    index: ClusterIndex | None = None
    vectors: WordVectors | None = None
    searched: str = ""
    kind: ClassVar[str] = "index of query words"

    def wanted(self) -> Any:
        """Return what is noted of it, and that all papers are read."""
        index, vectors = self._given()
        return {
            "description": str(mark_of(index.name, index.schema)),
            "form": FORM,
            "table": vectors.fingerprint,
            "vectors": self.searched,
            "papers": "read",
        }

    def stored(self, cluster: Cluster) -> Any:
        """Return what is noted of the words that are searched, or else of others for the index."""
        found = sorted(find_word_indexes(cluster, self._papers), key=lambda one: (not one.searched, not one.complete))
        if not found:
            return None
        facts = found[0].facts
        said = {name: facts.get(name, "") for name in ("table", "vectors")}
        form = facts.get("form", 1)
        return {"description": found[0].description, "form": form, **said, "papers": self._state(cluster, found[0])}

    def described(self, stored: Any) -> str:
        """Return the description."""
        return str(stored["description"])

    def check(self, cluster: Cluster) -> None:
        """Raise `InputError` if somebody else has an index or alias of the name."""
        others: set[str] = set()
        with ignoring_missing():
            others = set(cluster.call("GET", f"/{self.name}/_alias"))
            others -= {one.physical for one in find_word_indexes(cluster, self._papers)}
        if others:
            raise InputError(
                f"{cluster.url} has an index or alias {self.name} ({', '.join(sorted(others))}) that ses did not make",
                "rename or delete it, and try again",
            )

    def write(self, cluster: Cluster) -> None:
        """Write the words that are missing, and put the alias on the index of them when it is complete."""
        index, vectors = self._given()
        physical = physical_words(index.name, self.searched, vectors.fingerprint)
        found = {one.physical: one for one in find_word_indexes(cluster, index.name)}
        held = found.get(physical)
        made_by = {"table": vectors.fingerprint, "name": vectors.name, "vectors": self.searched}
        facts: dict[str, Any] = {"form": FORM, **made_by}
        if held is None:
            body = {
                "settings": {"index": _SETTINGS},
                "mappings": {"dynamic": False, "_meta": self._meta(facts)},
                "aliases": {writing_alias(physical): {}},
            }
            create_index(cluster, physical, body)
        now = reached(cluster, index.physical)
        seen = {uuid: int(last) for uuid, (last, _) in held.seen.items()} if held else {}
        query: QueryBody = {"match_all": {}}
        if any(one.uuid in seen for one in now.values()):
            query = {"bool": {"should": changed_since(seen, now), "minimum_should_match": 1}}
        self._add(cluster, physical, index.texts(query), vectors)
        facts["seen"] = {one.uuid: [one.last, one.changes] for one in now.values()}
        cluster.call("PUT", f"/{physical}/_mapping", {"_meta": self._meta(facts)}, retry=cluster.writing)
        there = {one.physical: one for one in find_word_indexes(cluster, index.name)}
        if actions := moved(list(there.values()), there[physical]):
            cluster.call("POST", "/_aliases", {"actions": actions}, retry=cluster.writing)
        self._tidy(cluster, index, physical, list(there.values()))

    def delete(self, cluster: Cluster) -> None:
        """Delete all words of the index."""
        for one in find_word_indexes(cluster, self._papers):
            if marked_index(one.description) == self._papers:
                delete_index(cluster, one.physical)

    @classmethod
    def listed(cls, cluster: Cluster, prefix: str) -> Iterator[Artifact]:
        """Yield the words of all indexes whose names begin so."""
        for name in sorted({one.name for one in find_word_indexes(cluster, f"{prefix.removeprefix('ses-')}*")}):
            yield cls(words_alias(name))

    def told(self, cluster: Cluster) -> str:
        """Return how many words there are, and what they take."""
        count = int(cluster.call("GET", f"/{self.name}/_count")["count"])
        said = f"{count:,} words"
        try:
            stored = cluster.call("GET", f"/{self.name}/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"]
        except ClusterError:  # the user may not see it
            return f"{said}; no heap"
        return f"{said}, {int(stored) / 1e6:.1f} MB on disk, no heap"

    @property
    def _papers(self) -> str:
        """Name of the index of papers."""
        return self.name.removeprefix("ses-").removesuffix("-words")

    def _given(self) -> tuple[ClusterIndex, WordVectors]:
        assert self.index is not None  # noqa: S101 - words that are only listed are not written
        assert self.vectors is not None  # noqa: S101
        return self.index, self.vectors

    def _meta(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        index, _ = self._given()
        return {"description": str(mark_of(index.name, index.schema)), "ses": {"words": facts}}

    def _state(self, cluster: Cluster, held: WordIndex) -> str:
        if not held.complete or not held.searched:
            return "not all read"
        now = reached(cluster, self.index.physical) if self.index else {}
        return "read" if all(_has_seen(held, one) for one in now.values()) else "not all read"

    def _add(self, cluster: Cluster, physical: str, texts: Iterator[tuple[str, ...]], vectors: WordVectors) -> None:
        """Write the words of texts, and those of the vocabulary, that are not there yet."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(word for word in set(words_of(" ".join(text))) if len(word) <= LONGEST)
        known = list(vectors.pieces)[:COMMON] or vectors.common(COMMON)
        words = [word for word, _ in counts.most_common(MOST)]
        language = self._given()[0].schema.language
        spellings = {word: by_rules(word, language) for word in dict.fromkeys([*known, *words])}
        # Who types a word that no paper has may mean one that they have.
        others = dict.fromkeys(other for word in words for other in spellings[word] if other not in spellings)
        spellings |= {other: by_rules(other, language) for other in others}
        cluster.call("POST", f"/{physical}/_refresh", retry=cluster.writing)
        free = MOST - int(cluster.call("GET", f"/{physical}/_count", retry=cluster.writing)["count"])
        requests = self._requests(cluster, physical, spellings, vectors, free)
        if refused := bulk.write(cluster, writing_alias(physical), requests):
            raise ClusterError(f"The word {refused[0].id} can't be written: {refused[0].reason}.")
        cluster.call("POST", f"/{physical}/_refresh", retry=cluster.writing)

    def _requests(
        self, cluster: Cluster, physical: str, spellings: Mapping[str, Sequence[str]], vectors: WordVectors, free: int
    ) -> Iterator[BulkRequest]:
        """Yield the requests that write the words that are not there yet, as many as there is room for.

        `spellings` are the other spellings of each word.
        """
        words = list(spellings)
        for start in range(0, len(words), _ASKED):
            new = _missing(cluster, physical, words[start : start + _ASKED])[: max(0, free)]
            free -= len(new)
            made = zip(new, short_decimals(vectors.of(new)), strict=True) if new else ()
            # A word of no known wordpiece adds nothing to a query; a piece is a part of words, whatever it adds.
            zeros, pieces = [0] * vectors.dimension, vectors.pieces
            lines = [
                (word, _document(word, vector or zeros, spellings[word], piece=word in pieces))
                for word, vector in made
                if vector or word in pieces
            ]
            for part in range(0, len(lines), _WRITTEN):
                page = lines[part : part + _WRITTEN]
                yield BulkRequest(tuple(word for word, _ in page), tuple(line for _, two in page for line in two))

    def _tidy(self, cluster: Cluster, index: ClusterIndex, physical: str, found: Sequence[WordIndex]) -> None:
        """Delete words of other models and tables, except those of the version of the papers before."""
        generations = read_generations(find_indexes(cluster, index.name))
        before = {one.facts.get("schema", {}).get("fingerprint") for one in generations if one.previous}
        for one in found:
            kept = one.complete and one.facts.get("vectors") in before - {self.searched}
            if one.physical != physical and not kept and marked_index(one.description) == index.name:
                delete_index(cluster, one.physical)


def _has_seen(held: WordIndex, one: Reached) -> bool:
    # A write to one shard of several may leave the least number as it was.
    return [one.last, one.changes] == held.seen.get(one.uuid)


def _missing(cluster: Cluster, physical: str, words: Sequence[str]) -> list[str]:
    """Return the words that are not in an index of words."""
    params = {"_source": False}
    reply = cluster.call("POST", f"/{physical}/_mget", {"ids": list(words)}, params=params, retry=cluster.writing)
    return [word for word, found in zip(words, reply["docs"], strict=True) if not found.get("found")]


def _document(word: str, vector: Sequence[float], spellings: Sequence[str], *, piece: bool) -> tuple[bytes, bytes]:
    said = {"piece": piece, "spellings": spellings}
    held = {"vector": vector, **{name: value for name, value in said.items() if value}}
    return orjson.dumps({"index": {"_id": word}}), orjson.dumps(held)
