"""Attaching an index of others, and detaching it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from corpora.errors import InputError, NotFoundError, UnavailableError
from search_plugin.engines.cluster.attached.attachment import NAMESPACE, Attachment, companion_name
from search_plugin.engines.cluster.attached.index import PAGE, AttachedIndex, companion_of
from search_plugin.engines.cluster.attached.opening import open_attached
from search_plugin.engines.cluster.attached.places import fields_of, find_places
from search_plugin.engines.cluster.attached.suitability import check_readable, own_properties, why_beside
from search_plugin.engines.cluster.attached.writing import unpin
from search_plugin.engines.cluster.engine import ClusterEngine
from search_plugin.engines.cluster.errors import ClusterError
from search_plugin.engines.cluster.mapping import body_of, properties_of
from search_plugin.engines.cluster.physical import create_index, delete_index, physical_name
from search_plugin.engines.index_name import check_index_name
from search_plugin.fields import PAPER_FIELDS

if TYPE_CHECKING:
    from search_plugin.engines.cluster.index import ClusterIndex
    from search_plugin.schema import IndexSchema

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
    """

    name: str
    target: str
    fields: Mapping[str, str]
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Detached:
    """What detaching an index did.

    Attributes:
        name: What it was called.
        target: The index or alias.
        restored: Documents from which vectors were removed.
        left: Indexes whose mapping still has the unused field.
    """

    name: str
    target: str
    restored: int
    left: tuple[str, ...]


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
            told = f"choose one of {known}" if known else "attach one first"
            raise NotFoundError(f"No index {name!r} of {self.url} is attached", told)
        return found[0]

    def attach(self, wanted: Wanted, schema: IndexSchema) -> Attachment:
        """Attach an index, or attach it again with other fields; no vector is written yet.

        Args:
            wanted: What to attach.
            schema: Model, vectors and language.

        Returns:
            The attachment.

        Raises:
            NotFoundError: If there is no such index.
            InputError: If a field can't serve, the name is taken, or it is attached with another model.
        """
        name = check_index_name(wanted.name)
        with self.lock(name):
            before = next(iter(self.attachments(name)), None)
            if before:
                _check_same(before, wanted, schema)
            elif self._generations(name):
                raise InputError(f"There is an index {name} of ses already", "choose another name with <index>")
            mappings = self._of(wanted.target, "_mapping")
            check_readable(mappings, wanted.target)
            places = find_places(mappings, wanted.fields, wanted.target)
            custom = tuple(field for field in fields_of(places) if field.origin == "custom")
            schema = replace(schema, fields=(*PAPER_FIELDS, *custom))
            moment = before.moment if before else time.time()
            attachment = Attachment(name, wanted.target, places, schema, "", moment)
            attachment = self._placed(attachment, wanted, mappings, before)
            self._keep(attachment, before)
        return attachment

    def renew(self, attachment: Attachment) -> None:
        """Add the field of the vectors to indexes that have come behind an attached alias."""
        if not attachment.beside:
            self._map(attachment)

    def detach(self, name: str, begin: Callable[[int], None], done: Callable[[int], None]) -> Detached:
        """Remove all that ses has written into an index, or beside it; may be repeated after an interruption.

        Args:
            name: Of the attached index.
            begin: Receives how many documents are to be restored.
            done: Receives how many more were restored.

        Returns:
            What was done.

        Raises:
            NotFoundError: If no index of this name is attached.
            UnavailableError: If a document can't be written.
        """
        restored, left = 0, tuple[str, ...]()
        with self.lock(name):
            attachment = self.attached(name)
            try:
                mappings = self._of(attachment.target, "_mapping")
            except NotFoundError:
                mappings = {}
            if mappings and not attachment.beside:
                index = AttachedIndex(self.cluster, self.dialect, attachment, self._leases[name])
                restored = _restore(index, begin, done)
                left = tuple(sorted(i for i, kept in mappings.items() if NAMESPACE in kept["mappings"]["properties"]))
            unpin(self.cluster, name)
            delete_index(self.cluster, physical_name(companion_name(name), 1))
        return Detached(name, attachment.target, restored, left)

    def _placed(
        self, attachment: Attachment, wanted: Wanted, mappings: Mapping[str, Any], before: Attachment | None
    ) -> Attachment:
        """Return the attachment with the place of its vectors, which is decided once."""
        if before and before.beside:
            return replace(attachment, beside=before.beside)
        inside = replace(attachment, schema=_inside(attachment.schema))
        if before:
            self._map(inside)
            return inside
        settings = self._of(wanted.target, "_settings", flat_settings=True)
        reason = "you asked for it" if wanted.beside else why_beside(mappings, settings, self.dialect)
        if not reason:
            try:
                self._map(inside)
            except ClusterError as error:
                if error.status not in (400, 403):
                    raise
                # Too many fields, or no right to change the mapping.
                reason = error.sentence.rstrip(".")
        return replace(attachment, beside=reason) if reason else inside

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

    def _of(self, target: str, what: str, **params: Any) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self.cluster.call("GET", f"/{quote(target, safe='')}/{what}", params=params)
        except ClusterError as error:
            if error.status == 404:
                raise NotFoundError(f"{self.url} has no index {target}", "check its name") from error
            raise
        return found


def _check_same(before: Attachment, wanted: Wanted, schema: IndexSchema) -> None:
    if before.target != wanted.target:
        raise InputError(f"{before.name} is attached to {before.target}", "choose another name with <index>")
    if before.schema.fingerprint != schema.fingerprint:
        raise InputError(
            f"{before.name} is attached with the model {before.schema.model}", "detach it first, or give that <model>"
        )
    if wanted.beside and not before.beside:
        raise InputError(f"The documents of {before.target} hold the vectors already", "detach it first")


def _inside(schema: IndexSchema) -> IndexSchema:
    """Return a schema with its vectors in the namespace of ses; a model's own, since a mapping can't be changed."""
    named = (replace(field, name=f"{NAMESPACE}.{field.format}_{schema.fingerprint}") for field in schema.vectors)
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
