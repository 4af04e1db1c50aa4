"""An encoder in fp32, whose vectors are compared with formulas and with other programs."""

from __future__ import annotations

from pathlib import Path

from encoders.encoder import load_encoder
from encoders.text_encoder import TextEncoder


def encoder_of(model: Path | str, tmp_path: Path) -> TextEncoder:
    """Load a model's folder; its graphs are kept in `tmp_path`."""
    return load_encoder(str(model), cache_dir=tmp_path / "cache", precision="fp32")
