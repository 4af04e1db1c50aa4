"""Searches in the names of ses as searches of an index of others, and the replies back.

Everything that `search_plugin.engines.cluster` asks goes through here, so it needs to know nothing of other mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corpora.aliases import IDENTIFIERS
from corpora.errors import InputError
from corpora.paper import Accepted
from search_plugin.contract.schema import ForeignField
from search_plugin.engines.cluster.attached.field_mappings import FieldMapping, as_stored, read_from, record_of
from search_plugin.engines.cluster.dialect import TEXT, QueryBody, enclosed

_TEXTS = ("title", "abstract")
_DAY = "yyyy-MM-dd"
_LEAVES = ("term", "terms", "range", "exists", "match", "match_phrase", "fuzzy", "prefix", "regexp", "intervals")
_YEAR_ENDS = {"gte": "01-01", "lt": "01-01", "gt": "12-31", "lte": "12-31"}

NOTHING: QueryBody = {"match_none": {}}


@dataclass(frozen=True)
class Translation:
    """Between the names of ses and those of an index, whose fields are where `field_mappings` say.

    The index has content hashes at `hash_path`; if that is empty, they are elsewhere. `foreign` are its own vectors.
    """

    field_mappings: tuple[FieldMapping, ...]
    hash_path: str = ""
    foreign: tuple[ForeignField, ...] = ()

    @cached_property
    def _by_name(self) -> Mapping[str, FieldMapping]:
        return {mapped.name: mapped for mapped in self.field_mappings}

    def body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a search of the index for a search in the names of ses; only documents with a title are found."""
        there = {name: value for name, value in body.items() if name not in ("stored_fields", "docvalue_fields")}
        there["query"] = self._of_papers(body.get("query", {"match_all": {}}))
        wanted = [name for name in body.get("docvalue_fields", ()) if name != "id"] or body.get("_source")
        # Whole documents may be asked for, without some fields.
        if wanted and not isinstance(wanted, Mapping):
            there |= self._read(wanted)
        if "sort" in body:
            there["sort"] = [self._sort(one) for one in body["sort"]]
        if "fields" in body:
            there["fields"] = [name for name in body["fields"] if name != "id"]
        if "aggs" in body:
            there["aggs"] = {name: self._counted(one) for name, one in body["aggs"].items()}
        if "highlight" in body:
            there["highlight"] = self._marked(body["highlight"])
        return there

    def reply(self, body: Mapping[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a search in the names of ses; documents that are no papers are left out."""
        hits = reply["hits"]
        here = {**reply, "hits": {**hits, "hits": list(self._hits(body, hits.get("hits", ())))}}
        if "aggregations" in reply:
            here["aggregations"] = {
                name: {"buckets": list(self._buckets(one, reply["aggregations"].get(name, {})))}
                for name, one in body["aggs"].items()
            }
        return here

    def _of_papers(self, query: QueryBody) -> QueryBody:
        """Return a query of the documents that have a title; legs that the cluster joins may be inside nothing else."""
        if "hybrid" in query:
            inside = query["hybrid"]
            return {"hybrid": {**inside, "queries": [*map(self._of_papers, inside["queries"])]}}
        return {"bool": {"must": [self.query(query)], "filter": [self.has_title]}}

    def _marked(self, how: Mapping[str, Any]) -> dict[str, Any]:
        """Return what to mark words in."""
        fields = {self._by_name[name].path: one for name, one in how["fields"].items() if name in self._by_name}
        words = {"highlight_query": self.query(how["highlight_query"])} if "highlight_query" in how else {}
        return {**how, **words, "fields": fields}

    def query(self, query: QueryBody) -> QueryBody:
        """Return a query of the index for a query in the names of ses."""
        (kind, inside), *_ = query.items()
        if kind == "bool":
            whole = {name: part for name, part in inside.items() if not isinstance(part, list)}
            parts = {name: [*map(self.query, part)] for name, part in inside.items() if isinstance(part, list)}
            return {"bool": {**whole, **parts}}
        if kind == "dis_max":
            return {"dis_max": {**inside, "queries": [*map(self.query, inside["queries"])]}}
        if kind == "wrapper":
            return enclosed(self.query(inside["query"].query))
        if kind == "script_score":
            return {"script_score": {**inside, "query": self.query(inside["query"])}}
        if kind == "nested":
            return {"nested": {**inside, "query": self.query(inside["query"])}}
        if kind == "knn":
            return {"knn": self._nearest(inside)}
        return self._leaf(kind, inside) if kind in _LEAVES else query

    @property
    def has_title(self) -> QueryBody:
        """The condition that a document is a paper, as a query of the index."""
        return {"exists": {"field": self._by_name["title"].path}}

    def _nearest(self, clause: Mapping[str, Any]) -> dict[str, Any]:
        if "field" in clause:  # as Elasticsearch writes it
            return {**clause, **self._within(clause["field"], clause)}
        ((field, inside),) = clause.items()
        return {field: {**inside, **self._within(field, inside)}}

    def _within(self, field: str, clause: Mapping[str, Any]) -> dict[str, Any]:
        """Return the filter of a graph search: the owner may have given a vector to documents without a title too."""
        where = [self.query(clause["filter"])] if "filter" in clause else []
        # Some versions apply a filter to the passages themselves.
        if any(own.name == field and not own.nested for own in self.foreign):
            # Elasticsearch 9 returns documents without a vector too if there is a filter and no graph (flat).
            where += [self.has_title, {"exists": {"field": field}}]
        if not where:
            return {}
        return {"filter": where[0] if len(where) == 1 else {"bool": {"filter": where}}}

    def _leaf(self, kind: str, inside: Mapping[str, Any]) -> QueryBody:
        ((name, value),) = inside.items()
        if kind == "exists":
            name = value
        if any(own.name == name for own in self.foreign):
            return {kind: dict(inside)}
        if name == "id":
            return self._of_id(kind, value)
        if name == "identifiers":
            return self._of_identifiers(kind, value)
        if name == TEXT:
            paths = [self._by_name[text].path for text in _TEXTS if text in self._by_name]
            if kind in ("fuzzy", "regexp", "terms", "intervals"):
                return _any_of([{kind: {path: value}} for path in paths])
            how = "phrase" if kind == "match_phrase" else "most_fields"
            return {"multi_match": {**value, "fields": paths, "type": how}}
        mapped = self._by_name.get(name)
        if mapped is None:
            # The vectors have the same name here and there; what is not there has no value.
            return {kind: dict(inside)} if "." in name else NOTHING
        if mapped.kind == "date":
            query = _of_date(mapped, kind, value, by_year=name == "year")
        else:
            query = {kind: {"field": mapped.path} if kind == "exists" else {mapped.path: value}}
        return {"nested": {"path": mapped.nested, "query": query}} if mapped.nested else query

    def _of_id(self, kind: str, value: Any) -> QueryBody:
        if kind == "exists":
            return {"match_all": {}}
        return {"ids": {"values": list(value) if kind == "terms" else [value]}}

    def _of_identifiers(self, kind: str, value: Any) -> QueryBody:
        there = [mapped for mapped in self.field_mappings if mapped.name in ("identifiers", *IDENTIFIERS)]
        if kind == "exists":
            return _any_of([{"exists": {"field": mapped.path}} for mapped in there])
        found: dict[str, QueryBody] = {}
        for identifier in value if kind == "terms" else [value]:
            name, _, bare = str(identifier).partition(":")
            if listed := self._by_name.get("identifiers"):
                found[str(identifier)] = {"term": {listed.path: {"value": str(identifier), "case_insensitive": True}}}
            for mapped in there:
                if mapped.name == name.lower():
                    for form in _forms(mapped.name, bare.lower()):
                        found[f"{mapped.path} {form}"] = {
                            "term": {mapped.path: {"value": form, "case_insensitive": True}}
                        }
        return _any_of(list(found.values()))

    def _read(self, names: Sequence[str]) -> dict[str, Any]:
        """Return what asks for some values; the title is always among them, since a paper has one."""
        wanted = {"title", *names}
        if "identifiers" in wanted:
            wanted |= set(IDENTIFIERS)
        read = read_from([mapped for mapped in self.field_mappings if mapped.name in wanted])
        own = [self.hash_path] if "content_hash" in wanted and self.hash_path else []
        return {**read, "_source": [*read["_source"], *own]}

    def _sort(self, one: Any) -> Any:
        if not isinstance(one, dict):
            return one
        ((name, how),) = one.items()
        if name == "_score":
            return one
        if name == "id" or (name == "year" and name not in self._by_name):
            # No index can be sorted by the ids of its documents unless it was configured for that.
            return "_doc"
        if name not in self._by_name:
            raise InputError("This index keeps no order of titles", "sort by a field of numbers or dates")
        mapped = self._by_name[name]
        nested = {"nested": {"path": mapped.nested}} if mapped.nested else {}
        unmapped = "date" if mapped.kind == "date" else "double"
        return {mapped.path: {**how, **nested, "unmapped_type": unmapped}}

    def _counted(self, one: Mapping[str, Any]) -> dict[str, Any]:
        if "aggs" in one:
            inside = {name: self._counted(count) for name, count in one["aggs"].items()}
            where = {"filter": self._of_papers(one["filter"])} if "filter" in one else {}
            return {**one, **where, "aggs": inside}
        ((kind, how),) = one.items()
        mapped = self._by_name.get(how["field"])
        if mapped is None:
            return {"filter": NOTHING}
        count: dict[str, Any] = {kind: {**how, "field": mapped.path}}
        if mapped.kind == "date" and kind == "terms":
            order = how["order"]
            years = {"calendar_interval": "year", "format": "yyyy", "min_doc_count": 1, "order": order}
            count = {"date_histogram": {"field": mapped.path, **years}}
        if not mapped.nested:
            return count
        # Papers are counted, not the objects in them.
        values = {**count, "aggs": {"papers": {"reverse_nested": {}}}}
        return {"nested": {"path": mapped.nested}, "aggs": {"values": values}}

    def _buckets(self, one: Mapping[str, Any], counted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        ((kind, how),) = one.items()
        found = counted.get("values", counted).get("buckets", ())
        for bucket in found:
            key = bucket["key"]
            if kind == "terms" and how["field"] == "year" and "key_as_string" in bucket:
                key = int(bucket["key_as_string"])
            papers = bucket.get("papers", bucket)["doc_count"]
            yield {**bucket, "key": key, "doc_count": papers}

    def _hits(self, body: Mapping[str, Any], hits: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        columns = body.get("docvalue_fields", ())
        for hit in hits:
            fields = {name: hit["fields"][name] for name in body.get("fields", ()) if name in hit.get("fields", {})}
            fields["id"] = [hit["_id"]]
            here = {**hit, "fields": fields}
            if "_source" in hit and (len(columns) > 1 or body.get("_source")):
                record = record_of(0, hit, self.field_mappings)
                held = as_stored(record) if isinstance(record, Accepted) else {}
                if self.hash_path:
                    space, _, name = self.hash_path.partition(".")
                    held["content_hash"] = hit["_source"].get(space, {}).get(name, "")
                if not columns and "id" not in held:
                    continue
                here["_source"] = held
                fields |= {name: _listed(held[name]) for name in columns if held.get(name)}
                fields["id"] = [hit["_id"]]
            yield here


def _of_date(mapped: FieldMapping, kind: str, value: Any, *, by_year: bool) -> QueryBody:
    """Return the query for days, which a document may hold with the time of day and in another format."""
    if kind == "exists":
        return {"exists": {"field": mapped.path}}
    if kind == "range":
        bounds = {sign: f"{day}-{_YEAR_ENDS[sign]}" if by_year else day for sign, day in value.items()}
        return {"range": {mapped.path: {**bounds, "format": _DAY}}}
    return _any_of([_of_date(mapped, "range", {"gte": day, "lte": day}, by_year=by_year) for day in _listed(value)])


def _any_of(queries: Sequence[QueryBody]) -> QueryBody:
    return {"bool": {"should": list(queries), "minimum_should_match": 1}} if queries else NOTHING


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _forms(kind: str, value: str) -> tuple[str, ...]:
    """Return the forms in which databases write an identifier."""
    if kind == "doi":
        return (value, f"doi:{value}", f"https://doi.org/{value}", f"http://dx.doi.org/{value}")
    if kind == "pmc":
        return (value, value.removeprefix("pmc"))
    return (value,)
