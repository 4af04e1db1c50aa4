"""What a reader has chosen of the facets, and the filter that it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from search_plugin.contract.schema import IndexSchema
from search_plugin.filters.parse import quoted

YEAR = "year"


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The chosen values by field, and the years: any value of a field, and all fields together.

    Attributes:
        values: Chosen values by field, as text.
        first: First year.
        last: Last year.
    """

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    first: int | None = None
    last: int | None = None

    def filters(self, schema: IndexSchema, *, but: str = "") -> list[str]:
        """Return the expressions of a filter that must all hold; values are quoted, so none is read as more.

        The field `but` is left out: its facet counts what else could be chosen. Raises `InputError` if the index has no
        such field, or its values can't be counted.
        """
        return [text for name, text in self._filters(schema) if name != but]

    def _filters(self, schema: IndexSchema) -> Iterator[tuple[str, str]]:
        for name, values in self.values.items():
            found = schema.facet(name)
            # Chosen values are those of the index, so they are compared exactly; only texts can differ in case.
            sign = "==" if found.kind in ("keyword", "keywords") else "in"
            yield name, f"{found.name} {sign} ({', '.join(map(quoted, values))})"
        for sign, year in ((">=", self.first), ("<=", self.last)):
            if year is not None:
                yield YEAR, f"{YEAR} {sign} {year}"


def chosen(pairs: Sequence[str]) -> dict[str, list[str]]:
    """Read chosen values, each as `field:value`; a text without a colon is the field of an empty value."""
    values: dict[str, list[str]] = {}
    for pair in pairs:
        name, _, value = pair.partition(":")
        if value not in values.setdefault(name, []):
            values[name].append(value)
    return values
