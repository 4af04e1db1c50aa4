"""What a model declares about itself, and the fingerprint that ties an index to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

from corpora.checksums import sha256_of_text
from corpora.errors import InputError
from encoders.architectures.network import Network
from encoders.models.formats import Format, Similarity

EmptyParts = Literal["dropped", "kept"]
"""Whether the separator is dropped with an empty title or abstract, as in SciRepEval's code, or kept, as in SciMult's
and UniPR's: `title [SEP] `."""


@dataclass(frozen=True)
class ModelCard:
    """How a model's vectors are made; two models with equal fingerprints make interchangeable vectors.

    Attributes:
        name: The name that finds the model again: a known name, a folder's absolute path or a hub id.
        architecture: A name in `encoders.architectures.registry`, or `ensemble` or `routes` for a composed model.
        family: Transformer family of the weights: `bert` or `roberta`.
        dimension: Length of a vector.
        max_tokens: Longer texts are cut to this many tokens, special tokens included.
        similarity: The comparison of two vectors.
        separator: The tokenizer's separator token, set between title and abstract; if empty, a space is.
        empty_parts: Whether the separator is kept where title or abstract is empty.
        lowercase: Whether the tokenizer folds case.
        licence: SPDX name of the weights' licence, empty if unknown.
        prompts: The prompt before a text, by format.
        heads: The head of each format, one of the architecture's vectors; formats may share it.
        network: Size and facts of the network.
        weights_sha256: SHA-256 of the weights file, or of all of them.
        settings_sha256: SHA-256 of the tokenizer and of the configuration's facts about the graph.
        papers_by: Fingerprint of the member that makes the vectors of papers, whose indexes it can search too; empty if
            it has no members for formats.
        projected: Fingerprint in place of the model's own, if a projection follows it (`encoders/projection.py`).

    Example:
        >>> from encoders.registry import find_model
        >>> find_model("all-MiniLM-L6-v2").card.text("Masks and viruses", "We followed 1,204 people.")
        'Masks and viruses [SEP] We followed 1,204 people.'
    """

    name: str
    architecture: str
    family: str
    dimension: int
    max_tokens: int
    similarity: Similarity
    separator: str
    empty_parts: EmptyParts
    lowercase: bool
    licence: str
    prompts: Mapping[Format, str]
    heads: Mapping[Format, str]
    network: Network
    weights_sha256: str
    settings_sha256: str
    papers_by: str = ""
    projected: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that changes a vector or a comparison, in 16 hex digits; without name and licence."""
        if self.projected:
            return self.projected
        facts = asdict(self)
        del facts["name"], facts["licence"], facts["papers_by"], facts["projected"]
        return sha256_of_text(json.dumps(facts, sort_keys=True))[:16]

    @property
    def formats(self) -> tuple[Format, ...]:
        """Formats it has vectors for."""
        return tuple(self.heads)

    def text(self, title: str, abstract: str | None) -> str:
        """Return a paper as `title [SEP] abstract` (SPECTER section 2.2), and a query (no abstract) as it is."""
        if abstract is None:
            return title
        between = f" {self.separator} " if self.separator else " "
        return between.join(part for part in (title, abstract) if part or self.empty_parts == "kept")

    def prompt(self, text: str, task_format: Format) -> str:
        """Return a text as the model reads it in a task format, which `Encoder` asks for."""
        return self.prompts.get(task_format, "") + text

    def head(self, task_format: Format) -> str:
        """Return the name of a format's vector, or raise `InputError` naming the formats there are."""
        if task_format not in self.heads:
            raise InputError(
                f"The model {self.name} has no {task_format} vectors, only {', '.join(self.formats)}",
                "add what it lacks to the model (docs/encoders.md), or choose another with <model>",
            )
        return self.heads[task_format]

    def origin(self, task_format: Format) -> tuple[str, str]:
        """Return the head of a format and the prompt it reads; formats with the same two have the same vector.

        Raises `InputError` as `head` does.
        """
        return self.head(task_format), self.prompts.get(task_format, "")

    def distinct(self, formats: Iterable[Format]) -> tuple[Format, ...]:
        """Return those of some formats that it has, without those that have the same vector as an earlier one."""
        first: dict[tuple[str, str], Format] = {}
        for task_format in formats:
            if task_format in self.heads:
                first.setdefault(self.origin(task_format), task_format)
        return tuple(first.values())

    def passes(self, formats: Iterable[Format]) -> list[tuple[Format, ...]]:
        """Return the formats of each pass; other prompts need another pass, and so do heads that share no layer."""
        groups: dict[tuple[str, str], list[Format]] = {}
        for task_format in dict.fromkeys(formats):
            alone = "" if self.network.shared_layers else self.head(task_format)
            groups.setdefault((self.prompts.get(task_format, ""), alone), []).append(task_format)
        return [tuple(group) for group in groups.values()]
