"""Settings of hybrid search in a file, which tuning writes and searches take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import orjson

from corpora.documents import read_text
from corpora.errors import InputError
from corpora.options import check_options
from search_plugin.contract.plan import TITLE_BOOST, TITLE_WEIGHT
from search_plugin.contract.schema import Bm25
from search_plugin.fusion.fusions import DEFAULT_FUSION, LARGEST_CONSTANT, RANKED, get_fusion

LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to score words, and how to join the legs of a search.

    Attributes:
        fusion: A name in `FUSIONS`.
        weights: The weights of the legs, by name.
        rank_constant: The constant of reciprocal rank fusion; None for its default, and for the other fusions.
        title_boost: The same as of `SearchRequest`.
        bm25: The constants of the index that is searched; a search can't change them.
        fitted: What the settings were fitted on, and how well they did, for readers; searches ignore it.

    Raises:
        InputError: If the fusion is unknown, a weight is no number from 0 up or all are 0, or another number is out
            of bounds.
    """

    fusion: str = DEFAULT_FUSION
    weights: Mapping[str, float] = field(default_factory=dict)
    rank_constant: int | None = None
    title_boost: Annotated[float, TITLE_WEIGHT] = TITLE_BOOST
    bm25: Bm25 = field(default_factory=Bm25)
    fitted: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        get_fusion(self.fusion)
        bad = [leg for leg, weight in self.weights.items() if not (leg and _is_number(weight) and weight >= 0)]
        if bad:
            raise InputError(f"The tuned weight of the leg {bad[0]!r} must be a number of 0 or more.")
        if self.weights and not any(self.weights.values()):
            raise InputError("At least one of the tuned weights must be above 0.")
        check_options(self)
        constant = self.rank_constant
        if constant is None:
            return
        if self.fusion != RANKED:
            raise InputError(f"The fusion {self.fusion} takes no rank constant; only {RANKED} does.")
        if isinstance(constant, bool) or not (1 <= constant <= LARGEST_CONSTANT):
            raise InputError(f"The tuned rank constant must be a whole number from 1 to {LARGEST_CONSTANT:,}.")

    @property
    def name(self) -> str:
        """The fusion as `fusion_of` takes it, such as `rrf@20`."""
        return self.fusion if self.rank_constant is None else f"{self.fusion}@{self.rank_constant}"

    def __str__(self) -> str:
        weights = " ".join(f"{leg}={weight:g}" for leg, weight in self.weights.items())
        return f"{self.name} {weights or 'with equal weights'}, title boost {self.title_boost:g}, {self.bm25}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def read_search_settings(path: Path) -> SearchSettings:
    """Read and check a file of tuned settings, JSON as `search_settings_json` writes it.

    Raises `InputError` if the file can't be read or holds anything else.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        content = read_text(path, LARGEST_FILE)
        return TypeAdapter(SearchSettings).validate_json(content, strict=True, extra="forbid")
    except OSError as error:
        raise InputError(f"The tuned settings {path} can't be read: {error.strerror}.") from error
    except InputError as error:
        raise InputError(f"{path} can't be used: {error.sentence}", error.hint) from error
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{path} holds no tuned settings ({f'{where}: ' if where else ''}{first['msg']}); give a file that "
            "tuning wrote."
        ) from error
    except ValueError as error:
        raise InputError(f"{path} holds no tuned settings: {error}; give a file that tuning wrote.") from error


def search_settings_json(tuned: SearchSettings) -> str:
    """Return the settings as the content of a file that `read_search_settings` reads."""
    return orjson.dumps(tuned, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
