"""Stores taggers in folders: a head as models have it, in safetensors, and `tagger.json`; nothing that runs code."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from corpora.errors import InputError
from encoders.heads import read_heads
from encoders.models.folder import read_json
from products.tags.hierarchy import Concept, make_hierarchy
from products.tags.measures import TaggerMeasures
from products.tags.tagger import Tagger
from products.trained import TrainedVectors, storing

DESCRIPTION = "tagger.json"

_LARGEST = 64 << 20
"""In bytes: a label takes about 400."""

SHIPPED = Path(__file__).with_name("shipped")
"""Taggers that come with ses, each a folder."""


def write_tagger(folder: Path, tagger: Tagger) -> None:
    """Write a tagger into a folder of its own, whole or not at all; `UnavailableError` if it can't be written."""
    import numpy as np

    thresholds = [float(one) if np.isfinite(one) else None for one in tagger.thresholds]
    described: dict[str, Any] = {
        "model": tagger.source.model,
        "fingerprint": tagger.source.fingerprint,
        "thresholds": thresholds,
        "curves": {label: [part.tolist() for part in curve] for label, curve in tagger.curves.items()},
        "hierarchy": [asdict(concept) for concept in tagger.hierarchy.concepts.values()],
        "most": tagger.most,
        "method": tagger.method,
        "made_from": tagger.made_from,
        "measures": asdict(tagger.measures) if tagger.measures else None,
    }
    with storing(folder, tagger.head) as part:
        (part / DESCRIPTION).write_text(_written(described), encoding="utf-8")


def _written(value: Any, margin: str = "") -> str:
    """Return JSON in which what has at most two levels takes one line, such as a calibration curve."""
    if not isinstance(value, dict | list | tuple) or _levels(value) <= 2:
        return json.dumps(value, sort_keys=True)
    inner = f"{margin}  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_written(value[key], inner)}" for key in sorted(value)]
    else:
        parts = [_written(one, inner) for one in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{inner}".join(parts)
    return f"{start}\n{inner}{lines}\n{margin}{end}"


def _levels(value: Any) -> int:
    if not isinstance(value, dict | list | tuple):
        return 0
    return 1 + max(map(_levels, value.values() if isinstance(value, dict) else value), default=0)


def read_tagger(folder: Path) -> Tagger:
    """Read the tagger of a folder, or raise `InputError` if its files are damaged or don't fit one another."""
    import numpy as np
    from pydantic import TypeAdapter

    described = read_json(folder / DESCRIPTION, dict, largest=_LARGEST)
    heads = read_heads(folder)
    try:
        (head,) = heads.values()
        found = described["measures"]
        tagger = Tagger(
            name=head.name,
            source=TrainedVectors(str(described["model"]), str(described["fingerprint"]), head.format),
            head=head,
            thresholds=np.array([np.inf if one is None else float(one) for one in described["thresholds"]]),
            curves={str(label): _curve(curve) for label, curve in described["curves"].items()},
            hierarchy=make_hierarchy(
                TypeAdapter(tuple[Concept, ...]).validate_json(orjson.dumps(described["hierarchy"]))
            ),
            most=int(described["most"]),
            method="names" if described["method"] == "names" else "labels",
            measures=TypeAdapter(TaggerMeasures).validate_json(orjson.dumps(found)) if found else None,
            made_from=str(described["made_from"]),
        )
        _check(tagger)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The tagger in {folder} can't be read ({str(error)[:200]}); train it again.") from error
    return tagger


def _check(tagger: Tagger) -> None:
    if not tagger.head.several or len(tagger.thresholds) != len(tagger.labels):
        raise ValueError(f"{len(tagger.thresholds)} thresholds for {len(tagger.labels)} labels")


def _curve(parts: Any) -> Any:
    import numpy as np

    before, after = (np.array(part, np.float64) for part in parts)
    if before.shape != after.shape or before.ndim != 1 or not len(before) or (np.diff(before) < 0).any():
        raise ValueError("a calibration curve that does not ascend")
    return before, after
