"""Stores forecasters in folders: a head as models have it, in safetensors, and `forecaster.json`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from corpora.errors import InputError
from encoders.heads import read_heads
from encoders.models.folder import read_json, write_json
from products.forecasts.forecaster import Forecaster, ForecastMeasures
from products.trained import TrainedVectors, storing

DESCRIPTION = "forecaster.json"


def write_forecaster(folder: Path, forecaster: Forecaster) -> None:
    """Write a forecaster into a folder of its own, whole or not at all; `UnavailableError` if it can't be written."""
    described: dict[str, Any] = {
        "model": forecaster.source.model,
        "fingerprint": forecaster.source.fingerprint,
        **{part: getattr(forecaster, part).tolist() for part in ("edges", "low", "high")},
        "level": forecaster.level,
        "made_from": forecaster.made_from,
        "measures": asdict(forecaster.measures) if forecaster.measures else None,
    }
    with storing(folder, forecaster.head) as part:
        write_json(part / DESCRIPTION, described)


def read_forecaster(folder: Path) -> Forecaster:
    """Read the forecaster of a folder, or raise `InputError` if its files are damaged or don't fit one another."""
    import numpy as np
    from pydantic import TypeAdapter

    described = read_json(folder / DESCRIPTION, dict)
    heads = read_heads(folder)
    try:
        (head,) = heads.values()
        found = described["measures"]
        edges, low, high = (np.array(described[part], np.float64) for part in ("edges", "low", "high"))
        forecaster = Forecaster(
            name=head.name,
            source=TrainedVectors(str(described["model"]), str(described["fingerprint"]), head.format),
            head=head,
            edges=edges,
            low=low,
            high=high,
            level=float(described["level"]),
            made_from=str(described["made_from"]),
            measures=TypeAdapter(ForecastMeasures).validate_json(orjson.dumps(found)) if found else None,
        )
        _check(forecaster)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"The forecaster in {folder} can't be read ({str(error)[:200]}); train it again.") from error
    return forecaster


def _check(forecaster: Forecaster) -> None:
    edges, low, high = forecaster.edges, forecaster.low, forecaster.high
    if forecaster.head.labels or not len(edges) + 1 == len(low) == len(high) or sorted(edges) != list(edges):
        raise ValueError("its intervals don't fit one another")
