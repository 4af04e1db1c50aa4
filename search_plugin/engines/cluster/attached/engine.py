"""Attaching an index of others, and detaching it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from urllib.parse import quote

from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.contract.engine import check_index_name
from search_plugin.contract.schema import PAPER_FIELDS, IndexSchema
from search_plugin.engines.cluster.attached.attachment import (
    HASH,
    NAMESPACE,
    Attachment,
    check_apart,
    companion_name,
    overlaps,
)
from search_plugin.engines.cluster.attached.field_mappings import check_field_mappings, fields_of, find_field_mappings
from search_plugin.engines.cluster.attached.index import (
    PAGE,
    AttachedIndex,
    check_copied,
    companion_of,
    gone,
    is_copied,
    open_attached,
    own_fields,
)
from search_plugin.engines.cluster.attached.vectors import NamedVectors, check_vectors, find_vectors
from search_plugin.engines.cluster.attached.writing import pin, pinned, unpin
from search_plugin.engines.cluster.changes import Reached, changed_since, reached
from search_plugin.engines.cluster.dialect import Dialect, QueryBody
from search_plugin.engines.cluster.engine import ClusterEngine
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.index import ClusterIndex
from search_plugin.engines.cluster.mapping import body_of, properties_of
from search_plugin.engines.cluster.physical import create_index, delete_index, physical_name
from search_plugin.engines.cluster.scan import check_plain_name

_ROUNDS = 5
"""How often documents are restored again that their owner brought back meanwhile."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user wants to attach.

    Attributes:
        name: What to call it; empty for the name of the index.
        target: The index or alias.
        fields: Its fields by names of ses.
        beside: Whether the vectors should be beside the documents even if these could hold them.
        vectors: Vectors that it holds already.
    """

    name: str
    target: str
    fields: Mapping[str, str]
    beside: bool = False
    vectors: tuple[NamedVectors, ...] = ()


@dataclass(frozen=True, slots=True)
class Detached:
    """What detaching an index did.

    Attributes:
        name: What it was called.
        target: The index or alias.
        restored: Documents from which vectors were removed.
        left: Indexes whose mapping still has the unused field.
        shared: Other attachments, whose vectors some of its documents hold.
    """

    name: str
    target: str
    restored: int
    left: tuple[str, ...]
    shared: tuple[str, ...] = ()


class AttachingEngine(ClusterEngine):
    """A cluster whose attached indexes are opened for writing vectors: into their documents, or into a companion."""

    def open(self, name: str) -> ClusterIndex:
        """Return what holds the vectors of an attached index, or raise `NotFoundError` if none has this name."""
        attachment = self.attached(name)
        lease = self._leases.get(name)
        if attachment.beside:
            return companion_of(self.cluster, self.dialect, attachment, lease)
        return open_attached(self.cluster, self.dialect, attachment, lease)

    def attached(self, name: str) -> Attachment:
        """Return an attachment, or raise `NotFoundError` that names the attached ones."""
        found = self.attachments(check_index_name(name))
        if not found:
            known = ", ".join(sorted(one.name for one in self.attachments("*")))
            hint = f"choose one of {known}" if known else "attach one first"
            raise NotFoundError(f"No index {name!r} of {self.url} is attached", hint)
        return found[0]

    def found(self, wanted: Wanted) -> Attachment:
        """Return what attaching an index without vectors of ses would keep; nothing is changed.

        Raises `NotFoundError` if there is no such index, and `InputError` if a field can't serve.
        """
        check_plain_name(wanted.target)
        described = self._described(wanted.target)
        check_readable(described, wanted.target)
        field_mappings = find_field_mappings(described, wanted.fields, wanted.target)
        foreign = find_vectors(described, wanted.vectors, self.dialect, wanted.target)
        model, fingerprint = (foreign[0].model, foreign[0].fingerprint) if foreign else ("", "")
        schema = IndexSchema(model, fingerprint, ())
        return Attachment(wanted.name, wanted.target, field_mappings, schema, "", time.time(), foreign=foreign)

    def attach(self, wanted: Wanted, schema: IndexSchema) -> Attachment:
        """Attach an index, or attach it again with other fields; no vector is written yet.

        If the schema has no vectors, ses writes nothing into the documents, and searches use the owner's.

        Raises `NotFoundError` if there is no such index, and `InputError` if a field can't serve, the name is taken, or
        the index is attached with another model.
        """
        check_plain_name(wanted.target)
        name = check_index_name(wanted.name)
        with self.lock(name):
            before = next(iter(self.attachments(name)), None)
            if before:
                _check_same(before, wanted, schema)
            elif self._generations(name):
                raise InputError(f"There is an index {name} of ses already", "choose another name with <index>")
            described = self._described(wanted.target)
            check_readable(described, wanted.target)
            field_mappings = find_field_mappings(described, wanted.fields, wanted.target)
            foreign = find_vectors(described, wanted.vectors, self.dialect, wanted.target)
            custom = tuple(field for field in fields_of(field_mappings) if field.origin == "custom")
            schema = replace(schema, fields=(*PAPER_FIELDS, *custom))
            attached_at = before.attached_at if before else time.time()
            indexes = before.indexes if before else ()
            attachment = Attachment(name, wanted.target, field_mappings, schema, "", attached_at, indexes, foreign)
            if schema.vectors:
                attachment = self._placed(attachment, wanted, described, before)
            self._keep(attachment, before)
            if not before:
                try:
                    self._check_apart(attachment)
                except InputError:
                    # Another run has attached them at the same time.
                    self._forget(name)
                    raise
        return attachment

    def renew(self, attachment: Attachment) -> None:
        """Add the field of the vectors to indexes that have come behind an attached alias.

        Raises `InputError` if the alias now reaches documents that are attached under another name, or if their fields
        were changed, and `UnavailableError` if the index is gone.
        """
        try:
            described = self._check_apart(attachment, "take that index out of {target}, or detach {other}")
        except NotFoundError as error:
            raise gone(self.cluster, attachment) from error
        check_field_mappings(described, attachment.field_mappings, attachment.target)
        check_vectors(described, attachment.foreign, self.dialect, attachment.target)
        if attachment.inside:
            for index, facts in described.items():
                check_copied(index, own_fields(facts), attachment, self.dialect)
            self._map(attachment)
            self._keep(_holding(attachment, described), attachment)

    def reached(self, attachment: Attachment) -> dict[str, Reached]:
        """Return the last change of each index behind an attachment, by its name, all of which searches then see.

        Nothing if the vectors are not in the documents, or the user may not see this.
        """
        if not attachment.inside:
            return {}
        target = quote(attachment.target, safe="")
        found = reached(self.cluster, target)
        try:
            self.cluster.call("POST", f"/{target}/_refresh")
        except ClusterError:
            return {}
        return found

    def changed(self, attachment: Attachment, now: Mapping[str, Reached]) -> QueryBody | None:
        """Return the query for documents that may have changed since the last update; None if it was not noted."""
        if not any(one.uuid in attachment.seen for one in now.values()):
            return None
        index = AttachedIndex(self.cluster, self.dialect, attachment, None)
        parts = [index.unmarked, *changed_since(attachment.seen, now)]
        return {"bool": {"should": parts, "minimum_should_match": 1}}

    def note_read(self, name: str, before: Mapping[str, Reached], written: int, rejected: int) -> None:
        """Note how far the documents of an attachment have been read, once their vectors are written.

        `before` are the last changes before they were read, `written` the number of documents into which vectors were
        written, and `rejected` of those that got none.
        """
        attachment = self.attached(name)
        index = AttachedIndex(self.cluster, self.dialect, attachment, None)
        # A document that could not be changed, and keeps the vectors of an older text, has to be read again.
        if not before or index.count_all() - index.count() != rejected:
            return
        after = self.reached(attachment)
        changes = sum(one.changes for one in after.values()) - sum(one.changes for one in before.values())
        # If nobody else has written meanwhile, what ses has written need not be read again.
        alone = changes == written and {one.uuid for one in after.values()} == {one.uuid for one in before.values()}
        seen = {one.uuid: one.last for one in (after if alone else before).values()}
        self._keep(replace(attachment, seen=seen), attachment)

    def detach(self, name: str, begin: Callable[[int], None], done: Callable[[int], None]) -> Detached:
        """Remove all that ses has written into an index, or beside it; may be repeated after an interruption.

        `begin` receives how many documents are to be restored, `done` how many more were restored. Raises
        `NotFoundError` if no index of this name is attached, and `UnavailableError` if a document can't be written.
        """
        restored, left, shared = 0, tuple[str, ...](), tuple[str, ...]()
        with self.lock(name):
            attachment = self.attached(name)
            described: dict[str, Any] = {}
            for target in (attachment.target, *attachment.indexes) if attachment.inside else ():
                with suppress(NotFoundError):
                    described |= {} if target in described else self._readable(target)
            unpin(self.cluster, name)
            others = dict(overlaps(described, attachment, self.attachments("*")))
            holding = {index for index, facts in described.items() if NAMESPACE in _properties(facts)}
            if own := sorted(holding - set(others)):
                # Through aliases without filters: a document may have left the attached alias since it got its vector.
                pin(self.cluster, attachment, own)
                index = AttachedIndex(self.cluster, self.dialect, attachment, self._leases[name], pinned(name))
                restored, left = _restore(index, begin, done), tuple(own)
            unpin(self.cluster, name)
            shared = tuple(sorted({other.name for other in others.values()}))
            self._forget(name)
        return Detached(name, attachment.target, restored, left, shared)

    def _placed(
        self, attachment: Attachment, wanted: Wanted, described: Mapping[str, Any], before: Attachment | None
    ) -> Attachment:
        """Return the attachment with the place of its vectors, which is decided once."""
        if before and before.beside:
            return replace(attachment, beside=before.beside)
        inside = replace(attachment, schema=_inside(attachment.schema))
        if before:
            self._check_apart(inside)
            self._map(inside)
            return _holding(inside, described)
        reason = "you asked for it" if wanted.beside else why_beside(described, self.dialect)
        if not reason:
            self._check_apart(inside)
            try:
                self._map(inside)
            except ClusterError as error:
                if error.status not in (400, 403):
                    raise
                # Too many fields, or no right to change the mapping.
                reason = error.sentence.rstrip(".")
        return replace(attachment, beside=reason) if reason else _holding(inside, described)

    def _map(self, attachment: Attachment) -> None:
        body = {"properties": own_properties(attachment.schema, self.dialect)}
        self.cluster.call("PUT", f"/{quote(attachment.target, safe='')}/_mapping", body, retry=self.cluster.writing)

    def _keep(self, attachment: Attachment, before: Attachment | None) -> None:
        physical = physical_name(companion_name(attachment.name), 1)
        facts = attachment.facts()
        if before:
            added = {}
            if attachment.beside:
                held = {field.name for field in before.schema.fields}
                every = properties_of(attachment.schema, self.dialect)
                added = {field.name: every[field.name] for field in attachment.schema.fields if field.name not in held}
            body = {"_meta": facts, "properties": added}
            self.cluster.call("PUT", f"/{physical}/_mapping", body, retry=self.cluster.writing)
            return
        self._check_plugins()
        if attachment.beside:
            body = body_of(attachment.schema, "", self.dialect, self.cluster.connection.shards)
            body["mappings"]["_meta"] = facts
        else:
            settings = {"number_of_shards": 1, "auto_expand_replicas": "0-1"}
            body = {"settings": {"index": settings}, "mappings": {"dynamic": "strict", "_meta": facts}}
        create_index(self.cluster, physical, body)

    def _check_apart(
        self, attachment: Attachment, hint: str = "search or detach that one, or attach this one with <beside>"
    ) -> Mapping[str, Any]:
        described = self._described(attachment.target)
        check_apart(described, attachment, self.attachments("*"), hint)
        return described

    def _forget(self, name: str) -> None:
        delete_index(self.cluster, physical_name(companion_name(name), 1))

    def _readable(self, target: str) -> Mapping[str, Any]:
        """Return what `_described` does, or raise `UnavailableError` if an index is closed: patterns leave it out."""
        described = self._described(target)
        self.cluster.call("GET", f"/{quote(target, safe='*')}/_count")
        return described

    def _described(self, target: str) -> Mapping[str, Any]:
        """Return aliases, mappings and flat settings of the indexes behind a name."""
        try:
            found: Mapping[str, Any] = self.cluster.call(
                "GET", f"/{quote(target, safe='*')}", params={"flat_settings": True}
            )
        except ClusterError as error:
            if error.status == 404:
                raise NotFoundError(f"{self.url} has no index {target}", "check its name") from error
            raise
        return found


def _holding(attachment: Attachment, described: Mapping[str, Any]) -> Attachment:
    """Return an attachment that remembers the indexes behind it as those that hold vectors."""
    return replace(attachment, indexes=tuple(sorted({*attachment.indexes, *described})))


def _properties(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = facts.get("mappings", {}).get("properties", {})
    return found


def _check_same(before: Attachment, wanted: Wanted, schema: IndexSchema) -> None:
    if before.target != wanted.target:
        raise InputError(f"{before.name} is attached to {before.target}", "choose another name with <index>")
    if bool(before.schema.vectors) != bool(schema.vectors):
        how = "with" if before.schema.vectors else "without"
        raise InputError(f"{before.name} is attached {how} vectors of ses", "detach it first, or give other <formats>")
    if schema.vectors and before.schema.fingerprint != schema.fingerprint:
        raise InputError(
            f"{before.name} is attached with the model {before.schema.model}", "detach it first, or give that <model>"
        )
    if schema.vectors and before.schema.quantization != schema.quantization:
        raise InputError(
            f"{before.name} is attached with the quantization {before.schema.quantization}",
            "detach it first, or leave <quantization> out",
        )
    if wanted.beside and not before.beside:
        raise InputError(f"The documents of {before.target} hold the vectors already", "detach it first")


def _inside(schema: IndexSchema) -> IndexSchema:
    """Return a schema with its vectors in the namespace of ses.

    A field is of one model and quantization, since a mapping can't be changed.
    """
    kept = schema.fingerprint + ("" if schema.quantization == "none" else f"_{schema.quantization}")
    named = (replace(field, name=f"{NAMESPACE}.{field.format}_{kept}") for field in schema.vectors)
    return replace(schema, vectors=tuple(named))


def _restore(index: AttachedIndex, begin: Callable[[int], None], done: Callable[[int], None]) -> int:
    """Remove what ses has written, until no document holds it, and return from how many."""
    restored = 0
    begin(index.count())
    for _ in range(_ROUNDS):
        for page in _pages(index.marked()):
            if refused := index.strip(page):
                raise UnavailableError(f"The document {refused[0].id} can't be restored: {refused[0].reason}")
            restored += len(page)
            done(len(page))
        if not index.count():
            return restored
    raise UnavailableError(
        f"Others write documents with vectors into {index.attachment.target} again and again", "stop them, and detach"
    )


def _pages(hits: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    while page := list(islice(hits, PAGE)):
        yield page


_BLOCKS = ("blocks.write", "blocks.read_only", "blocks.metadata")


def own_properties(schema: IndexSchema, dialect: Dialect) -> dict[str, Any]:
    """Return the mapping of the one field that ses adds to an index of others."""
    vectors = {field.name.partition(".")[2]: dialect.vector(field, schema.quantization) for field in schema.vectors}
    hashes = {HASH.partition(".")[2]: {"type": "keyword", "index": False}}
    return {NAMESPACE: {"properties": {**hashes, **vectors}}}


def check_readable(mappings: Mapping[str, Any], target: str) -> None:
    """Raise `InputError` if documents can't be read back, or are those of ses."""
    for index, kept in mappings.items():
        if index.startswith("ses."):
            raise InputError(f"{target} is an index of ses already", "search it as it is")
        if kept.get("mappings", {}).get("_source", {}).get("enabled") is False:
            raise InputError(
                f"The index {index} does not keep its documents (_source is disabled in its mapping), so they can't be "
                "read; index the papers from where they came."
            )


def why_beside(described: Mapping[str, Any], dialect: Dialect) -> str:
    """Return, as a clause, why vectors have to be kept beside the documents; empty if the documents can hold them.

    `described` has the mapping and the flat settings of each index, as the cluster gives them.
    """
    return next((reason for index, facts in described.items() for reason in _reasons(index, facts, dialect)), "")


def _reasons(index: str, facts: Mapping[str, Any], dialect: Dialect) -> Iterator[str]:
    own, mapping = facts.get("settings", {}), facts.get("mappings", {})
    if "data_stream" in facts:
        yield f"the index {index} is a part of a data stream, whose documents are not to be changed"
    for setting, value in dialect.settings().items():
        if str(own.get(f"index.{setting}", "false")) != str(value).lower():
            yield f"the index {index} was made without index.{setting}"
    source = mapping.get("_source", {})
    if source.get("includes") or source.get("excludes"):
        # A partial update writes a document again from its _source, without what that lacks.
        yield f"the index {index} keeps some fields out of _source, and they would be lost by an update"
    mode = own.get("index.mapping.source.mode") or own.get("index.mode", "standard")
    if source.get("mode", "stored") != "stored" or mode not in ("standard", "stored"):
        yield f"the index {index} does not keep its documents as they were written ({source.get('mode') or mode})"
    for block in _BLOCKS:
        if str(own.get(f"index.{block}", "false")) == "true":
            yield f"the index {index} is read-only (index.{block})"
    if is_copied(own_fields(facts), dialect):
        yield (
            f"the index {index} has a copy of the field {NAMESPACE} of another index, as _reindex makes it; without "
            "that field its documents could hold the vectors"
        )
    taken = mapping.get("properties", {}).get(NAMESPACE)
    if taken is not None and HASH.partition(".")[2] not in taken.get("properties", {}):
        yield f"the index {index} has a field {NAMESPACE} of its own"
