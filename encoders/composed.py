"""Encoders made of several: the mean or the concatenation of models (an ensemble), or a model for each format (routes).

SciRepEval's ensemble (section 6) is the mean of a control-code and an adapter model's vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from corpora.lazy import np
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.text_encoder import EncodingProgress, TextEncoder, ignore, shared


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Several models whose vectors of a text become one.

    Attributes:
        card: The card of the whole.
        members: The models, in the order of a concatenation.
    """

    card: ModelCard
    members: tuple[TextEncoder, ...]

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), as `Encoder.encode`."""
        return self.encode_formats(texts, [task_format])[task_format]

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens all models together read of texts in a task format."""
        return sum(member.count_tokens(texts, task_format) for member in self.members)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format, as `Encoder.encode_formats`."""
        for task_format in formats:
            self.card.head(task_format)
        share = shared(done, len(self.members))
        parts = [member.encode_formats(texts, formats, share) for member in self.members]
        if self.card.network.options["combine"] == "concat":
            return {
                task_format: np.concatenate([part[task_format] for part in parts], axis=1) for task_format in formats
            }
        return {task_format: np.mean([part[task_format] for part in parts], axis=0) for task_format in formats}


@dataclass(frozen=True, slots=True)
class FormatRouter:
    """A model for each format, such as one for queries and one for papers.

    Attributes:
        card: The card of the whole.
        members: Models by format.
    """

    card: ModelCard
    members: Mapping[Format, TextEncoder]

    def encode(self, texts: Sequence[str], task_format: Format = Format.PRX) -> np.ndarray:
        """Encode texts for one task format: float32 (texts, dimension), as `Encoder.encode`."""
        self.card.head(task_format)
        return self.members[task_format].encode(texts, task_format)

    def count_tokens(self, texts: Sequence[str], task_format: Format = Format.PRX) -> int:
        """Return how many tokens the format's model reads of texts."""
        self.card.head(task_format)
        return self.members[task_format].count_tokens(texts, task_format)

    def encode_formats(
        self, texts: Sequence[str], formats: Sequence[Format], done: EncodingProgress = ignore
    ) -> dict[Format, np.ndarray]:
        """Encode texts for several task formats: float32 (texts, dimension) by format, as `Encoder.encode_formats`."""
        vectors: dict[Format, np.ndarray] = {}
        for task_format in formats:
            self.card.head(task_format)
        # A model that serves several formats may make them in one pass.
        wanted = {id(self.members[task_format]): self.members[task_format] for task_format in formats}
        for member in wanted.values():
            own = [task_format for task_format in formats if self.members[task_format] is member]
            vectors |= member.encode_formats(texts, own, shared(done, len(wanted)))
        return {task_format: vectors[task_format] for task_format in formats}


def compose(model: Model, load: Callable[[Model], TextEncoder]) -> TextEncoder:
    """Load a model made of others, each of them by `load`."""
    # A member that has two parts is loaded once.
    loaded = {id(member): load(member) for member in {id(member): member for member in model.members.values()}.values()}
    members = {key: loaded[id(member)] for key, member in model.members.items()}
    if model.card.architecture == "ensemble":
        return Ensemble(model.card, tuple(members.values()))
    return FormatRouter(model.card, {Format(key): member for key, member in members.items()})
