"""The colour of a site, in a shade that people can read in the light and in the dark theme."""

from __future__ import annotations

import re
from itertools import starmap

_LIGHT, _DARK = "#f3f1ec", "#24282d"
"""The background of each theme with the least contrast to text (`--sunk` of base.css)."""

_CONTRAST = 4.5
"""The least contrast of text to its background (WCAG 2.2, success criterion 1.4.3)."""

_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")


def colour(value: object) -> str:
    """Read a colour such as `#1a5fb4`, as a setting; empty for none."""
    if not isinstance(value, str) or (value and not _COLOUR.fullmatch(value)):
        raise ValueError("give a colour as # and six hexadecimal digits, such as #1a5fb4")
    return value.lower()


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio")."""
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def readable(given: str, background: str) -> str:
    """Return the shade of a colour nearest to it that can be read on a background."""
    away = "#000000" if _luminance(background) > 0.5 else "#ffffff"
    shades = (_mixed(given, away, step / 20) for step in range(21))
    return next(shade for shade in shades if contrast(shade, background) >= _CONTRAST)


def accent_rules(given: str) -> str:
    """Return the rules of a style sheet that make a colour that of links and buttons, in both themes."""
    light, dark = (_rule(readable(given, background), background) for background in (_LIGHT, _DARK))
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _rule(accent: str, background: str) -> str:
    text = max(("#ffffff", "#000000"), key=lambda one: contrast(one, accent))
    return f"--accent: {accent}; --on-accent: {text}; --accent-soft: {_mixed(accent, background, 0.85)};"


def _channels(given: str) -> list[int]:
    return [int(given[at : at + 2], 16) for at in (1, 3, 5)]


def _luminance(given: str) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (one / 255 for one in _channels(given))
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _mixed(one: str, other: str, share: float) -> str:
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(starmap(lambda a, b: f"{round(a + (b - a) * share):02x}", pairs))
