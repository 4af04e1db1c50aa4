"""The factors by which papers are compared in paper-reviewer matching, as one model with an instruction for each.

UniPR, later Chain-of-Factors, is one network that reads papers under three instructions (UniPR section 3.2.1, table 1).
Only two of the three vectors are task formats of ses; the third, citation, is available by its instruction only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from encoders.layouts.unipr import MAX_TOKENS, SEMANTIC
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.tokens.long_text import pieces
from encoders.tokens.tokenizer import load_tokenizer, well_formed

_PAIRS = {
    "semantic": "Find a pair of papers that one paper is relevant to the other paper.",
    "topic": "Find a pair of papers that one paper shares similar scientific topic classes with the other paper.",
    "citation": "Find a pair of papers that one paper cites the other paper.",
}
_BY_DATA_SET = {
    "NIPS": {
        "semantic": SEMANTIC,
        "topic": "Retrieve a scientific paper that shares similar scientific topic classes with the query.",
        "citation": "Retrieve a scientific paper that is cited by the query.",
    },
    "KDD": {
        "semantic": "Retrieve a scientific paper that is semantically relevant to the query scientific paper.",
        "topic": "Retrieve a scientific paper that is topically relevant to the query scientific paper.",
        "citation": "Retrieve a scientific paper that is most likely cited by the query scientific paper.",
    },
}


def instructions_for(data_set: str) -> Mapping[str, str]:
    """Return the instruction of each factor that the papers' program reads a data set with (CoF:get_paper_emb.py).

    Args:
        data_set: `NIPS`, `KDD`, `SIGIR` or `SciRepEval`; others are read as the last two.

    Returns:
        Factor to instruction; submissions and reviewers' papers read the same.
    """
    return _BY_DATA_SET.get(data_set, _PAIRS)


def factor_models(model: Model, instructions: Mapping[str, str]) -> dict[str, Model]:
    """Return a model for each factor, whose proximity vectors are those under the factor's instruction.

    Args:
        model: Any.
        instructions: By factor.

    Returns:
        The models; none if this isn't UniPR's network: other networks with instructions were trained on other words.
    """
    card = model.card
    if card.architecture != "instructions" or model.exported:
        return {}
    encode, limit = load_tokenizer(model.folder, card).encode, min(MAX_TOKENS, card.max_tokens)

    def ids(text: str) -> list[int]:
        return pieces(encode(well_formed(text)).ids, limit, 1, "start")[0]

    head, options = Format.PRX.value, card.network.options
    if list(options["instructions"].get(card.heads.get(Format.PRX, ""), ())) != list(ids(SEMANTIC)):
        return {}
    networks = {
        factor: replace(card.network, options={**options, "instructions": {head: ids(text)}})
        for factor, text in instructions.items()
    }
    return {
        factor: replace(model, card=replace(card, heads={Format.PRX: head}, network=network))
        for factor, network in networks.items()
    }
