"""The words of papers beside their vectors, for linear models that learn from labels or numbers.

Title and abstract become TF-IDF of stems, without stop words. A model of the words and one of the vectors are fitted
apart, and added with weights that are fitted to what each says of papers that it was not fitted to.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from corpora.installed import optional
from corpora.lazy import np
from encoders.models.folder import read_json, write_json
from products.indexed import in_blocks
from search_plugin.contract.engine import Index
from search_plugin.words.languages import get_language
from search_plugin.words.space import words_text
from search_plugin.words.terms import TOKEN, terms_of

FEWEST_PAPERS = 3
"""Papers that a term needs."""

MOST_SHARED = 0.9
"""Terms of a larger share of the papers are left out."""

MOST_TERMS, MOST_WEIGHTS = 20_000, 4_000_000
"""Terms of a vocabulary, those of the most papers; fewer for so many labels that their weights would be more than 4 MB,
one byte each."""

DESCRIPTION, WEIGHTS = "words.json", "words.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Terms with their weights.

    Attributes:
        language: Name of the language in which terms are found (`search_plugin.words.languages`).
        places: The place of each term.
        rarity: Inverse document frequency of each term, float32 (terms,).
    """

    language: str
    places: dict[str, int]
    rarity: np.ndarray

    def entries(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of a text's terms, and their weights, float32, of length 1 together."""
        held = (self.places.get(term) for term in terms_of(text, self.language))
        counts = Counter(place for place in held if place is not None)
        found = np.array([*counts], np.int64)
        weights = (1 + np.log(np.array([*counts.values()], np.float32))) * self.rarity[found]
        return found, weights / max(float(np.linalg.norm(weights)), 1e-12)

    def matrix(self, texts: Iterable[str]) -> Any:
        """Return texts as rows, sparse float64 (texts, terms); `UnavailableError` if SciPy is not installed."""
        sparse = optional("scipy.sparse", "Learning from words needs scikit-learn", "products")
        held = [self.entries(text) for text in texts]
        starts = np.cumsum([0, *(len(places) for places, _ in held)])
        places, weights = (np.concatenate([one[part] for one in held]) for part in (0, 1))
        return sparse.csr_matrix((weights.astype(np.float64), places, starts), (len(held), len(self.places)))


def vocabulary_of(texts: Sequence[str], language: str, outputs: int) -> Vocabulary | None:
    """Return the terms of texts to learn from, for a model of so many outputs; None if no term is in enough of them."""
    papers = Counter(term for text in texts for term in {*terms_of(text, language)} if term)
    kept = [term for term, count in papers.items() if FEWEST_PAPERS <= count <= MOST_SHARED * len(texts)]
    kept = sorted(kept, key=lambda term: (-papers[term], term))[: min(MOST_TERMS, MOST_WEIGHTS // outputs)]
    rarity = [1 + math.log((1 + len(texts)) / (1 + papers[term])) for term in kept]
    places = {term: place for place, term in enumerate(kept)}
    return Vocabulary(language, places, np.array(rarity, np.float32)) if kept else None


@dataclass(frozen=True, slots=True, eq=False)
class WordWeights:
    """What the words of a paper add to each output of a linear model of its vector.

    Attributes:
        vocabulary: The terms.
        steps: The weight of each term in steps, int8 (terms, outputs).
        scales: Size of a step of each output, float32 (outputs,).
    """

    vocabulary: Vocabulary
    steps: np.ndarray
    scales: np.ndarray

    def add(self, texts: Sequence[str]) -> np.ndarray:
        """Return what the words of some papers add, float32 (papers, outputs)."""
        found = np.zeros((len(texts), len(self.scales)), np.float32)
        for row, text in zip(found, texts, strict=True):
            places, weights = self.vocabulary.entries(text)
            row[:] = weights @ self.steps[places].astype(np.float32)
        return np.asarray(found * self.scales)

    def telling(self, text: str, output: int, count: int) -> dict[str, float]:
        """Return the words of a text that speak most for an output, with what each adds, the most first.

        A word is shown in the form in which the text has it first.
        """
        places, weights = self.vocabulary.entries(text)
        added = weights * self.steps[places, output] * self.scales[output]
        best = [one for one in (-added).argsort(kind="stable")[:count].tolist() if added[one] > 0]
        forms: dict[int, str] = {}
        for token in TOKEN.finditer(text):
            for term in terms_of(token[0], self.vocabulary.language):
                forms.setdefault(self.vocabulary.places.get(term, -1), term if token[1] else token[0].lower())
        return {forms[int(places[one])]: float(added[one]) for one in best}


def word_weights(vocabulary: Vocabulary, weights: np.ndarray) -> WordWeights:
    """Return weights, float64 (outputs, terms), as one byte each."""
    scales = np.maximum(np.abs(weights).max(axis=1), 1e-12) / 127
    return WordWeights(vocabulary, np.round(weights / scales[:, None]).astype(np.int8).T, scales.astype(np.float32))


def write_words(folder: Path, words: WordWeights) -> None:
    """Write weights of words into the folder of a product; raises `OSError` as the file system does."""
    from safetensors.numpy import save

    held = words.vocabulary
    arrays = {"steps": np.ascontiguousarray(words.steps), "scales": words.scales, "rarity": held.rarity}
    (folder / WEIGHTS).write_bytes(save(arrays))
    write_json(folder / DESCRIPTION, {"language": held.language, "terms": " ".join(held.places)})


def read_words(folder: Path, outputs: int) -> WordWeights | None:
    """Read the weights of words from the folder of a product with so many outputs; None if it has none.

    Raises `InputError` if the files are damaged, or don't fit.
    """
    described = read_json(folder / DESCRIPTION, dict, missing={})
    if not described and not (folder / WEIGHTS).exists():
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(folder / WEIGHTS)
        places = {term: place for place, term in enumerate(str(described["terms"]).split(" "))}
        language = get_language(str(described["language"])).name
        words = WordWeights(Vocabulary(language, places, arrays["rarity"]), arrays["steps"], arrays["scales"])
        _check(words, outputs)
    except (OSError, SafetensorError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"The words in {folder} can't be read ({error}); train it again.") from error
    return words


def _check(words: WordWeights, outputs: int) -> None:
    terms, shape = len(words.vocabulary.places), words.steps.shape
    if shape != (terms, outputs) or words.scales.shape != (outputs,) or words.vocabulary.rarity.shape != (terms,):
        raise ValueError(f"{shape} weights for {terms} terms and {outputs} outputs")


def texts_of(index: Index, ids: Iterable[str]) -> list[str]:
    """Return title and abstract of papers of an index, in their order; empty for those that it does not hold."""
    found: list[str] = []
    for block in in_blocks(ids):
        papers = index.papers(block)
        found += [words_text(papers[id_]) if id_ in papers else "" for id_ in block]
    return found


def added(words: WordWeights | None, vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray | float:
    """Return what the words of papers add to the outputs of a model; 0 if it has no words.

    Raises `InputError` if it has words and not each vector has a text.
    """
    if words is None:
        return 0.0
    if len(texts) != len(vectors):
        raise InputError(
            f"It reads the words of papers beside their vectors, and {len(vectors):,} vectors came with {len(texts):,} "
            "texts",
            "give title and abstract of each paper",
        )
    return words.add(texts)
