"""A page as a program, whatever its language: variables, requests, joining, and the page at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search_plugin.engines.cluster.frontends.http import HttpRequest, Parameter
from search_plugin.engines.cluster.frontends.languages.parts import lines_of, variables
from search_plugin.engines.cluster.frontends.languages.sources import PARTS, source_of
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import (
    TABLE_FILE,
    WORDS,
    Joining,
    PageScript,
    QueryVector,
    VectorWay,
)

OUTPUT = "The page has the form of a reply to _search."
TITLE = "The page of a search in the index {index}, by the requests of ses."


@dataclass(frozen=True)
class Program:
    """The parts of a program in one language, as formats of Python.

    Attributes:
        notation: How it writes JSON.
        comment: What begins a line of comment.
        vector: The expression that reads the vector from a file.
        variable: The statement that gives a `name` its `value`.
        call: The expression that sends a request: its `method`, `path` and `lines`.
        page: The statement that makes the page by one `call`.
        counts: The statements that put counts of an aggregation of their own at their usual places in the page.
        begin: The statement that makes a list of legs.
        legs: The statement that adds the replies of a `call` to it.
        rank: The statement that joins the legs by the function in `sources`, with its arguments.
        neighbours: The statements that let neighbours count by a `call` for the vectors of the first papers (`pool`);
            the other parts are arguments of the functions in `sources`.
        show: The statements that read the papers by a `call`, and make the page of `size` papers from `offset`.
        end: The statement that prints the page.
        between: What is after each function of `sources`.
        ending: What the names of its files in `sources` end in.
        best: The score of the first paper.
        argument: The statement that reads the words from the command line, with a `value` for where there are none.
        vectors: The statements that make the vector of the words, by way, with the parts of
            its request, the `field` of the papers, and the `file` of the table. That of words makes `known`.
        spelled: The statement that finds the spellings of the words by what is `known` of them.
        unknown: What is known of words if the cluster was not asked.
    """

    notation: Notation
    comment: str
    vector: str
    variable: str
    call: str
    page: str
    counts: str
    begin: str
    legs: str
    rank: str
    neighbours: str
    show: str
    end: str
    between: str
    ending: str
    best: str
    argument: str
    vectors: Mapping[VectorWay, str]
    spelled: str
    unknown: str

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
                read = self.vector if value is None else self.notation.write(value)
                parts.append(self.variable.format(name=name, value=read))
        calls = [self._call(request) for request in script.searches]
        if script.joining and script.papers:
            parts += [self.begin, *(self.legs.format(call=call) for call in calls)]
            parts += [self._ranked(script.joining), self._neighbours(script)]
            first, size = script.joining.offset, script.joining.size
            parts.append(self.show.format(call=self._call(script.papers), offset=first, size=size, end=first + size))
        else:
            parts += [self.page.format(call=call) for call in calls]
            parts += [self.counts] if script.counted_apart else []
        return "".join([*parts, self.end])

    def comments(self, *sentences: str) -> str:
        """Return sentences as lines of comment."""
        return "".join(f"{self.comment} {sentence}\n" for sentence in sentences)

    def _vector(self, script: PageScript, made: QueryVector) -> list[str]:
        """Return the statements that make the vector of the words."""
        request = made.request or HttpRequest("", "")
        statement = self.vectors[made.way].format(
            call=self._call(request),
            path=request.path,
            body=self.notation.write(request.body),
            field=self.notation.text(made.field),
            file=self.notation.text(TABLE_FILE),
        )
        asked = made.way == "words"
        known = self.notation.parameter(Parameter("known")) if asked else self.unknown
        spelled = self.spelled.format(known=known) if script.spelled else ""
        argument = self.argument.format(value=self.notation.text(script.values[WORDS]))
        # The first papers by words are searched in all spellings too.
        return [argument, *([statement, spelled] if asked else [spelled, statement])]

    def _neighbours(self, script: PageScript) -> str:
        """Return the statements that let neighbours count; empty if they do not."""
        how = script.neighbours
        if how is None:
            return ""
        return self.neighbours.format(
            call=self._call(how.request),
            field=self.notation.text(how.field),
            pool=how.pool,
            weight=how.weight,
            nearest=how.nearest,
            first=how.first,
            largest="1" if how.scaled else self.best,
        )

    def _ranked(self, joining: Joining) -> str:
        """Return the statement that joins the legs."""
        return self.rank.format(
            weights=list(joining.weights),
            measures=self.notation.write(list(joining.measures), ""),
            window=joining.window,
            constant=joining.constant,
        )

    def _call(self, request: HttpRequest) -> str:
        lines = ", ".join(self.notation.write(line) for line in lines_of(request))
        method, path = self.notation.text(request.method), self.notation.text(request.path)
        return self.call.format(method=method, path=path, lines=lines)
