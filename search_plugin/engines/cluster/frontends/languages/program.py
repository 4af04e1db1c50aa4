"""A page as a program, whatever its language: variables, requests, joining, and the page at the end.

What each language says is a template in `sources`, `program.js` and the like, with a section for each part. `@name@` is
the place of a value. A section that begins with a blank line keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter
from search_plugin.engines.cluster.frontends.languages.parts import lines_of, variables
from search_plugin.engines.cluster.frontends.languages.sources import PARTS, source_of
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import TABLE_FILE, WORDS, Joining, PageScript, QueryVector

OUTPUT = "The page has the form of a reply to _search."
TITLE = "The page of a search in the index {index}, by the requests of ses."

_SECTION = re.compile(r"^(?:#|//)= (\w+)\n", re.MULTILINE)
_PLACE = re.compile(r"@(\w+)@")


@lru_cache
def _sections(ending: str) -> Mapping[str, str]:
    """Return the sections of a language's template by name."""
    _, *parts = _SECTION.split(source_of("program", ending))
    return dict(zip(parts[::2], parts[1::2], strict=True))


@dataclass(frozen=True)
class Program:
    """How programs of one language are written.

    Attributes:
        notation: How it writes JSON.
        comment: What begins a line of comment.
        ending: What the names of its files in `sources` end in.
        between: What is after each function of `sources`.
    """

    notation: Notation
    comment: str
    ending: str
    between: str = "\n"

    def section(self, name: str, /, **values: object) -> str:
        """Return a section of the template with values in their places; a text in a value has no places."""
        return _PLACE.sub(lambda place: str(values[place[1]]), _sections(self.ending)[name])

    def expression(self, name: str, /, **values: object) -> str:
        """Return a section that is no statement: without the end of its line."""
        return self.section(name, **values).removesuffix("\n")

    def write(self, script: PageScript, head: str) -> str:
        """Return the program for a page, after a head that can send requests."""
        parts = [head]
        names = [
            *(PARTS[script.query_vector.way] if script.query_vector else ()),
            *(["join"] if script.joining else []),
            *(["spellings"] if script.spelled else []),
            *(["neighbours"] if script.neighbours else []),
        ]
        parts += [source_of(name, self.ending) + self.between for name in names]
        if script.query_vector:
            parts += self._vector(script, script.query_vector)
        else:
            for name, value in variables(script).items():
                read = self.expression("vector") if value is None else self.notation.write(value)
                parts.append(self.section("variable", name=name, value=read))
        calls = [self._call(request) for request in script.searches]
        if script.joining and script.papers:
            parts += [self.section("begin"), *(self.section("legs", call=call) for call in calls)]
            parts += [self._ranked(script.joining), self._neighbours(script)]
            first, size = script.joining.offset, script.joining.size
            call = self._call(script.papers)
            parts.append(self.section("show", call=call, offset=first, size=size, end=first + size))
        else:
            parts += [self.section("page", call=call) for call in calls]
            parts += [self.section("counts")] if script.counted_apart else []
        return "".join([*parts, self.section("end")])

    def comments(self, *sentences: str) -> str:
        """Return sentences as lines of comment."""
        return "".join(f"{self.comment} {sentence}\n" for sentence in sentences)

    def _vector(self, script: PageScript, made: QueryVector) -> list[str]:
        """Return the statements that make the vector of the words."""
        request = made.request or HttpRequest("", "")
        statement = self.section(
            made.way,
            call=self._call(request),
            path=request.path,
            body=self.notation.write(request.body),
            field=self.notation.text(made.field),
            file=self.notation.text(TABLE_FILE),
        )
        argument = self.section("argument", value=self.notation.text(script.values[WORDS]))
        asks_for_words = made.way == "words"
        known = self.notation.parameter(Parameter("known")) if asks_for_words else self.expression("unknown")
        spelled = self.section("spelled", known=known) if script.spelled else ""
        # The first papers by words are searched in all spellings too.
        return [argument, *([statement, spelled] if asks_for_words else [spelled, statement])]

    def _neighbours(self, script: PageScript) -> str:
        """Return the statements that let neighbours count; empty if they do not."""
        how = script.neighbours
        if how is None:
            return ""
        return self.section(
            "neighbours",
            call=self._call(how.request),
            field=self.notation.text(how.field),
            pool=how.pool,
            weight=how.weight,
            nearest=how.nearest,
            first=how.first,
            largest="1" if how.scaled else self.expression("best"),
        )

    def _ranked(self, joining: Joining) -> str:
        """Return the statement that joins the legs."""
        return self.section(
            "rank",
            weights=list(joining.weights),
            measures=self.notation.write(list(joining.measures), ""),
            window=joining.window,
            constant=joining.constant,
        )

    def _call(self, request: HttpRequest) -> str:
        """Return the expression that sends a request."""
        lines = ", ".join(self.notation.write(line) for line in lines_of(request))
        method, path = self.notation.text(request.method), self.notation.text(request.path)
        return self.expression("call", method=method, path=path, lines=lines)
