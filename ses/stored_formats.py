"""Which formats an index stores vectors for: a vector that the model makes for several formats is stored once."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.formats import Format
    from search_plugin.contract.schema import IndexSchema


def formats_to_store(
    card: ModelCard, asked: Iterable[Format], schema: IndexSchema | None, others: Iterable[Format] = ()
) -> tuple[Format, ...]:
    """Return the formats to store vectors for: prx, which searches use, and those that are asked for.

    A format with the same vector as an earlier one is left out, with a warning, unless the index holds it already.

    Args:
        card: The index's model.
        asked: Formats that are asked for.
        schema: Schema of the index, if it exists.
        others: Formats that are stored in any case, such as those with models of their own.

    Returns:
        The formats, prx first.
    """
    from encoders.models.formats import Format

    wanted = tuple(dict.fromkeys([Format.PRX, *asked]))
    kept = {*card.distinct(wanted), *others}
    if schema and schema.model_fingerprint == card.fingerprint:
        kept |= {Format(field.format) for field in schema.vectors if field.unit == "paper"}
    # What the model lacks is refused later.
    twins = [one for one in wanted if one in card.heads and one not in kept]
    stored = tuple(one for one in wanted if one not in twins)
    if twins:
        logging.getLogger("ses").warning(
            "The model %s has no %s vectors of its own, so only its %s vectors are stored.",
            *(card.name, " and ".join(twins), " and ".join(stored)),
        )
    return stored
