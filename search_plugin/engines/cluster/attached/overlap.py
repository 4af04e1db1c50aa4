"""Attachments that reach the same documents: each would rewrite the other's vectors, which are in one field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError

if TYPE_CHECKING:
    from search_plugin.engines.cluster.attached.attachment import Attachment


def overlaps(
    described: Mapping[str, Any], attachment: Attachment, others: Iterable[Attachment]
) -> Iterator[tuple[str, Attachment]]:
    """Find the indexes whose documents hold the vectors of another attachment.

    Args:
        described: The indexes behind the attachment, with their aliases, as the cluster describes them.
        attachment: What is attached; nothing overlaps if its vectors are beside the documents.
        others: All attachments; those with vectors beside the documents are left out, since they write nothing there.

    Yields:
        Each index with the other attachment.
    """
    for other in others:
        if other.name != attachment.name and not (other.beside or attachment.beside):
            yield from ((index, other) for index, facts in described.items() if _reaches(other.target, index, facts))


def check_apart(described: Mapping[str, Any], attachment: Attachment, others: Iterable[Attachment], hint: str) -> None:
    """Refuse to write into documents into which another attachment writes.

    Args:
        described: As of `overlaps`.
        attachment: What is attached.
        others: All attachments.
        hint: What to do; `{other}` stands for the name of the other attachment, `{target}` for what is attached.

    Raises:
        InputError: If there is such an attachment.
    """
    for index, other in overlaps(described, attachment, others):
        of = "" if index == other.target else f" (by {other.target})"
        raise InputError(
            f"The documents of {index} are attached as {other.name} already{of}, and each would rewrite the vectors of "
            "the other",
            hint.format(other=other.name, target=attachment.target),
        )


def _reaches(target: str, index: str, facts: Mapping[str, Any]) -> bool:
    """Whether a name or a pattern reaches an index: by its own name, an alias or a data stream."""
    # Not asked from the cluster: a user may not have the right to see what others have attached.
    names = {index, *facts.get("aliases", {}), str(facts.get("data_stream", index))}
    patterns = (re.escape(part).replace(r"\*", ".*") for part in target.split(","))
    return any(re.fullmatch(pattern, name) for pattern in patterns for name in names)
