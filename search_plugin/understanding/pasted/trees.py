"""The tree of a pasted search: words with their fields, joined by operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from search_plugin.contract.tree import MAX_DEPTH
from search_plugin.understanding.pasted.tokens import PastedToken, pasted_tokens, reads_flat, reads_or_first

DEEPEST_PASTED = MAX_DEPTH // 2
"""Deepest nesting of brackets: a bracket and its NOT are two levels of a filter."""

_BETWEEN = PastedToken("operator", "and")
_BRACKETS = "Brackets that don't pair or hold nothing were left out."


@dataclass(frozen=True, slots=True)
class Leaf:
    """Words with their fields.

    Attributes:
        text: The words.
        together: Whether they stand side by side.
        names: The fields that they were given, as the other system names them.
        within: Words between two of them, or 0.
        sign: The relation to a year.
    """

    text: str
    together: bool
    names: tuple[str, ...] = ()
    within: int = 0
    sign: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """Parts that an operator joins; `within` words may be between two that are near."""

    operator: Literal["and", "or", "not", "near"]
    parts: tuple[Tree, ...]
    within: int = 0


Tree = Leaf | Branch


class TooDeep(Exception):  # noqa: N818 - an answer of the parser, not an error
    """Brackets nest deeper than a filter may."""


def read_tree(text: str, note: Callable[[str], None]) -> Tree | None:
    """Return the tree of a search, None if it has no words; raises `TooDeep`. `note` takes what was left out."""
    return _Parser(text, note).whole()


class _Parser:
    """Gives fields to the words or the bracket before or after which they stand."""

    def __init__(self, text: str, note: Callable[[str], None]) -> None:
        self._tokens, self._at, self._note = list(pasted_tokens(text)), 0, note
        self._flat, self._or_first = reads_flat(text), reads_or_first(text)

    def whole(self) -> Tree | None:
        parts = []
        while self._at < len(self._tokens):
            if (part := self._sequence(0)) is not None:
                parts.append(part)
            if self._kind:  # a bracket that closes none
                self._at += 1
                self._note(_BRACKETS)
        return Branch("and", tuple(parts)) if len(parts) > 1 else next(iter(parts), None)

    @property
    def _kind(self) -> str:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else ""

    def _next(self) -> PastedToken:
        self._at += 1
        return self._tokens[self._at - 1]

    def _sequence(self, depth: int) -> Tree | None:
        """Read operands and operators up to the end of the bracket."""
        if depth > DEEPEST_PASTED:
            raise TooDeep
        operands: list[Tree] = []
        operators: list[PastedToken] = []
        while self._kind not in ("", "close"):
            operator, negated = self._operators(first=not operands)
            operand = self._operand(depth)
            if operand is None:
                if operator and self._kind in ("", "close"):
                    self._lacks(operator)
                continue
            if operands:
                operators.append(operator or _BETWEEN)
            operands.append(Branch("not", (operand,)) if negated else operand)
        return self._folded(operands, operators) if operands else None

    def _operators(self, *, first: bool) -> tuple[PastedToken | None, bool]:
        """Read the operators before an operand: the one that joins it to those before, and whether it is negated."""
        operator, negated = None, False
        while self._kind == "operator":
            token = self._next()
            if token.text == "not" and (first or operator):
                negated = not negated
            elif first or operator:
                self._lacks(token)
            else:
                operator = token
        return operator, negated

    def _lacks(self, operator: PastedToken) -> None:
        self._note(f"{operator.text.upper()} lacks words that it applies to, so it was left out.")

    def _operand(self, depth: int) -> Tree | None:
        """Read words, a phrase, a heading or a bracket, with the fields before and after them."""
        if self._kind in ("", "close"):
            return None
        tree: Tree | None
        match self._kind:
            case "word":
                tree = self._run()
            case "explode":
                self._at += 1
                tree = self._run(heading=True)
            case "open":
                tree = self._bracket(depth)
            case "before":
                names = self._next().names
                inside = self._operand(depth)
                return inside and _given(inside, names)
            case "phrase" | "single" | "after_year" | "mesh" | "own" | "limit":
                token = self._next()
                said = any(map(str.isalnum, token.text))
                tree = Leaf(token.text, True, token.names, token.number, token.sign) if said else None  # noqa: FBT003
            case "operator":  # after a field without words
                return None
            case _:  # a field without words, or a stray sign
                self._at += 1
                return None
        return self._with_fields(tree)

    def _bracket(self, depth: int) -> Tree | None:
        self._at += 1
        tree = self._sequence(depth + 1)
        if self._kind == "close":
            self._at += 1
        if tree is None or self._tokens[self._at - 1].kind != "close":
            self._note(_BRACKETS)
        return tree

    def _run(self, *, heading: bool = False) -> Tree | None:
        """Read words side by side; a field after them makes a phrase of them."""
        words = []
        while self._kind == "word" or (heading and self._kind in ("phrase", "single")):
            words.append(self._next().text)
        text = " ".join(filter(None, words))
        if not any(map(str.isalnum, text)):
            return None
        return Leaf(text, heading or self._kind in ("bracket", "dotted", "slash"), ("exp",) if heading else ())

    def _with_fields(self, tree: Tree | None) -> Tree | None:
        while self._kind in ("bracket", "dotted", "colon", "slash"):
            token = self._next()
            if tree is not None and token.number and isinstance(tree, Leaf):
                tree = replace(tree, within=token.number)
            tree = tree and _given(tree, token.names)
        return tree

    def _folded(self, operands: list[Tree], operators: list[PastedToken]) -> Tree:
        """Return one tree: what is near binds tightest, then AND and NOT, then OR; some systems have another order."""
        ors = {one.text == "or" for one in operators if one.text in ("and", "or", "not")}
        orders = [("near", "next"), *((("or",), ("and",), ("not",)) if self._or_first else (("and", "not"), ("or",)))]
        if self._flat:
            orders = [("near", "next"), ("and", "or", "not")]
            if len(ors) > 1:
                self._note("AND and OR without brackets were read from left to right, as PubMed does.")
        for names in orders:
            operands, operators = _merged(operands, operators, names)
        return operands[0]


def _given(tree: Tree, names: tuple[str, ...]) -> Tree:
    """Return a tree whose words without a field have one."""
    if isinstance(tree, Leaf):
        return tree if tree.names else replace(tree, names=names)
    return replace(tree, parts=tuple(_given(part, names) for part in tree.parts))


def _merged(
    operands: Sequence[Tree], operators: Sequence[PastedToken], names: Sequence[str]
) -> tuple[list[Tree], list[PastedToken]]:
    """Return operands and operators after those of some names have joined theirs, from left to right."""
    kept, left = [operands[0]], []
    for operator, operand in zip(operators, operands[1:], strict=True):
        if operator.text in names:
            kept[-1] = _join(operator, kept[-1], operand)
        else:
            left.append(operator)
            kept.append(operand)
    return kept, left


def _join(operator: PastedToken, one: Tree, other: Tree) -> Tree:
    match operator.text:
        case "next" if isinstance(one, Leaf) and isinstance(other, Leaf):
            return replace(one, text=f"{one.text} {other.text}", together=True, names=one.names or other.names)
        case "next" | "near":
            if isinstance(one, Branch) and one.operator == "near":  # a chain: each is near to the one before it
                return Branch("and", (one, Branch("near", (one.parts[1], other), operator.number)))
            return Branch("near", (one, other), operator.number)
        case "not":
            return Branch("and", (one, Branch("not", (other,))))
    kind: Literal["and", "or"] = "or" if operator.text == "or" else "and"
    before = one.parts if isinstance(one, Branch) and one.operator == kind else (one,)
    return Branch(kind, (*before, other))
