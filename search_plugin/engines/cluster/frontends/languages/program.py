"""A page as a program, whatever its language: variables, requests, joining, and the page at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from search_plugin.engines.cluster.frontends.http import HttpRequest
from search_plugin.engines.cluster.frontends.languages.parts import lines_of, variables
from search_plugin.engines.cluster.frontends.languages.sources import PARTS, source_of
from search_plugin.engines.cluster.frontends.literals import Notation
from search_plugin.engines.cluster.frontends.script import TABLE_FILE, WORDS, PageScript, QueryVector, VectorWay

OUTPUT = "The page has the form of a reply to _search."
TITLE = "The page of a search in the index {index}, by the requests of ses."
_JOINING = (
    "The cluster returns the papers of each leg with their scores. What follows joins them as ses does:",
    "equal scores of a leg are in the order of the ids, and only the first papers of a leg count;",
)
_MINMAX = "the scores of a leg are scaled to 0..1, weighted and added up."
_RANKS = "each paper gets weight / (constant + rank) from each leg, added up."


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
        closeness: Functions from a score to the similarity of vectors, by measure; of None, the score itself.
        minmax: The value of a score in its leg.
        ranks: The value of a rank, with a `constant`.
        join: The function that joins legs: `weights`, functions of `closeness`, `window` and `value`.
        begin: The statement that makes a list of legs.
        legs: The statement that adds the replies of a `call` to it.
        rank: The statement that joins the legs.
        neighbours: The statements that let neighbours count by a `call` for the vectors of the first papers (`pool`),
            which are in a `field`; the other parts are arguments of the function in `sources`.
        show: The statements that read the papers by a `call`, and make the page of `size` papers from `offset`.
        end: The statement that prints the page.
        between: What is after each function of `sources`.
        ending: What the names of its files in `sources` end in.
        best: The score of the first paper.
        argument: The statement that reads the words from the command line, with a `value` for where there are none.
        vectors: The statements that make the vector of the words, by way, with the parts of
            its request, the `field` of the papers, and the `file` of the table.
    """

    notation: Notation
    comment: str
    vector: str
    variable: str
    call: str
    page: str
    counts: str
    closeness: Mapping[str | None, str]
    minmax: str
    ranks: str
    join: str
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

    def write(self, script: PageScript, head: str) -> str:
        """Return the program for a page, after a head that can send requests."""
        parts = [head]
        names = [
            *(PARTS[script.query_vector.way] if script.query_vector else ()),
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
            parts += self._joined(script)
            parts += [self.begin, *(self.legs.format(call=call) for call in calls)]
            parts += [self.rank, self._neighbours(script)]
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
        return [self.argument.format(value=self.notation.text(script.values[WORDS])), statement]

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

    def _joined(self, script: PageScript) -> list[str]:
        """Return the function that joins legs."""
        joining = script.joining
        if joining is None:
            return []
        # Ranks stay the same, whatever the scores mean.
        kinds = [None if joining.constant else measure for measure in joining.measures]
        function = self.join.format(
            weights=list(joining.weights),
            closeness=", ".join(self.closeness.get(kind, self.closeness[None]) for kind in kinds),
            window=joining.window,
            value=self.ranks.format(constant=joining.constant) if joining.constant else self.minmax,
        )
        return ["\n", self.comments(*_JOINING, _RANKS if joining.constant else _MINMAX), function]

    def _call(self, request: HttpRequest) -> str:
        lines = ", ".join(self.notation.write(line) for line in lines_of(request))
        method, path = self.notation.text(request.method), self.notation.text(request.path)
        return self.call.format(method=method, path=path, lines=lines)
