"""The map of the results of a search: `/map`, and the same as values: `/map.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from products.maps.search import MapSettings
from ses.service.access import needs
from ses.service.answers import json_response
from ses.service.parameters import ServiceOf, parameters_for
from ses.service.web.render import html
from ses.service.web.search import PageParameters, narrowed_options
from ses.service.web.value_names import value_text

if TYPE_CHECKING:
    from products.maps.maps import MapPoint, PaperMap
    from ses.service.service import Service

router = APIRouter(include_in_schema=False, dependencies=[Depends(needs("search"))])

WIDTH, HEIGHT = 1000, 640
"""Size of the drawing, in its own units."""

_MARGIN = 36
_COLOURS = 8
_SHAPES = (
    "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0z",
    "M-5.3-5.3h10.6v10.6h-10.6z",
    "M0-7.2L6.8 5.2H-6.8z",
    "M0-7.6L7.6 0 0 7.6-7.6 0z",
    "M-2.3-7h4.6v4.7H7v4.6H2.3V7h-4.6V2.3H-7v-4.6h4.7z",
    "M0 7.2L6.8-5.2H-6.8z",
    "M0-8L2.1-2.9 7.6-2.5 3.4 1.1 4.7 6.5 0 3.6-4.7 6.5-3.4 1.1-7.6-2.5-2.1-2.9z",
    "M-6.9-3.1L0-7 6.9-3.1V4L0 7.6-6.9 4z",
)
"""Outlines of the marks of topics, as paths about their middle: colours are not all that tells topics apart."""

_LINE, _LETTER = 19, 8.6
"""Height of a line of a label, and mean width of its letters."""

_LONGEST_LABEL = 42


class MapParameters(parameters_for(MapSettings, base=PageParameters)):  # type: ignore[misc]  # made from the options
    """The parameters of a map: those of the page of a search, so that any search can be shown as a map."""

    topic: list[int] = Field([], description="Numbers of topics to show, from 1; all if there is none.")


@dataclass(frozen=True, slots=True)
class Mark:
    """A paper as it is drawn: its point, its link, its place in the drawing, and whether its topic is shown."""

    point: MapPoint
    x: float
    y: float
    shown: bool


@dataclass(frozen=True, slots=True)
class TopicKey:
    """A topic as the legend and the drawing show it.

    Attributes:
        number: Its number, from 1.
        label: Its label.
        size: Its papers.
        shape: The outline of its marks.
        colour: Number of its colour, from 0.
        link: Parameters of the address that shows it, or leaves it out, beside those that are shown.
        shown: Whether it is shown.
        chosen: Whether the reader chose it.
        text: The label as drawn.
        x: Middle of the drawn label.
        y: Base line of the drawn label.
    """

    number: int
    label: str
    size: int
    shape: str
    colour: int
    link: str
    shown: bool
    chosen: bool
    text: str
    x: float
    y: float


def _map(service: Service, asked: MapParameters) -> PaperMap:
    given = narrowed_options(service, asked)
    return service.map(asked.index, asked.query, {"topics": asked.topics, "projection": asked.projection, **given})


@router.get("/map")
def show_map(request: Request, service: ServiceOf, asked: Annotated[MapParameters, Query()]) -> Response:
    """Show the best papers of a query, placed by meaning."""
    made = _map(service, asked)
    wanted = {one for one in asked.topic if 1 <= one <= len(made.topics)}
    given = asked.model_dump(exclude_unset=True)
    marks = _marks(made, wanted)
    search = {
        name: value for name, value in given.items() if name not in ("topics", "projection", "topic", "size", "offset")
    }
    return html(
        request,
        "map.html",
        query=asked.query,
        map=made,
        marks=marks,
        keys=_keys(made, marks, wanted, given),
        chosen=wanted,
        width=WIDTH,
        height=HEIGHT,
        asked=asked,
        given=[(name, one) for name, one in _pairs(given) if name not in ("topic", "size", "topics")],
        as_json=address({name: value for name, value in given.items() if name != "lang"}),
        as_search=address(search),
        everything=address({**given, "topic": []}),
        other=address({**given, "projection": "pca" if asked.projection == "tsne" else "tsne"}),
    )


@router.get("/map.json")
def map_values(service: ServiceOf, asked: Annotated[MapParameters, Query()]) -> Response:
    """Return the same map as values."""
    return json_response(_map(service, asked).to_dict(asked.topic))


def address(given: dict[str, Any]) -> str:
    """Return parameters as the part of an address after the `?`; those without a value are left out."""
    return urlencode(_pairs(given))


def _pairs(given: dict[str, Any]) -> list[tuple[str, str]]:
    listed = ((name, value if isinstance(value, list) else [value]) for name, value in given.items())
    return [(name, value_text(one)) for name, values in listed for one in values if one is not None and one != ""]


def _marks(made: PaperMap, wanted: set[int]) -> list[Mark]:
    """Return the marks: the points are stretched over the drawing, each axis on its own."""
    if not made.points:
        return []
    left, right = min(one.x for one in made.points), max(one.x for one in made.points)
    low, high = min(one.y for one in made.points), max(one.y for one in made.points)
    width, height = WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN
    return [
        Mark(
            one,
            round(_MARGIN + width * (one.x - left) / (right - left) if right > left else WIDTH / 2, 1),
            round(_MARGIN + height * (high - one.y) / (high - low) if high > low else HEIGHT / 2, 1),
            not wanted or one.topic + 1 in wanted,
        )
        for one in made.points
    ]


def _keys(made: PaperMap, marks: Sequence[Mark], wanted: set[int], given: dict[str, Any]) -> list[TopicKey]:
    keys = []
    boxes: list[tuple[float, float, float, float]] = []
    for number, topic in enumerate(made.topics, start=1):
        own = [mark for mark in marks if mark.point.topic == number - 1]
        text = topic.label if len(topic.label) <= _LONGEST_LABEL else f"{topic.label[: _LONGEST_LABEL - 1]}…"
        x, y = _room([mark.x for mark in own], [mark.y for mark in own], len(text) * _LETTER, boxes)
        keys.append(
            TopicKey(
                number=number,
                label=topic.label,
                size=topic.size,
                shape=_SHAPES[(number - 1) % len(_SHAPES)],
                # A second round has every colour with another shape.
                colour=(number - 1 + (number - 1) // _COLOURS) % _COLOURS,
                link=address({**given, "topic": sorted(wanted ^ {number})}),
                shown=not wanted or number in wanted,
                chosen=number in wanted,
                text=text,
                x=x,
                y=y,
            )
        )
    return keys


def _room(
    xs: Sequence[float], ys: Sequence[float], width: float, boxes: list[tuple[float, float, float, float]]
) -> tuple[float, float]:
    """Return where the label of some marks is drawn: at their middle, or as near to it as other labels allow."""
    middle, top = sorted(xs)[len(xs) // 2], sorted(ys)[len(ys) // 2]
    x = min(max(middle, width / 2 + 4), WIDTH - width / 2 - 4)
    for step in range(0, HEIGHT, 4):
        for y in (top + step, top - step):
            box = (x - width / 2, y - _LINE, x + width / 2, y)
            if _LINE <= y <= HEIGHT - 4 and not any(_overlap(box, other) for other in boxes):
                boxes.append(box)
                return round(x, 1), round(y, 1)
    return round(x, 1), round(top, 1)


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
