"""Instructions as context: UniPR's checkpoints and plain networks told to read so, against the formula."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from tests.encoders.checkpoints import make_scimult, make_unipr, read_params, read_weights
from tests.encoders.formulas.instructions import instructed_vector
from tests.encoders.formulas.layers import INSTRUCTED_LAYERS
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.layouts.test_scimult import CONTEXT, save, write_card
from tests.encoders.oracle import Oracle, under
from tests.tiny import make_model

SEMANTIC = "Retrieve a scientific paper that is relevant to the query."
TOPIC = "Find a pair of papers that one paper shares similar scientific topic classes with the other paper."
FACTORS = {Format.CLF: TOPIC, Format.PRX: SEMANTIC, Format.QRY: SEMANTIC}
INSTRUCT = "instruct_model.encoder."
OWN = {"prx": "find a cell study", "clf": "protein " * 50, "rgn": "", "qry": "find a cell study"}
PLAIN = {"instruct_type": "all", "proj_adaptor": False, "use_attn_gate": False, "mean_pool": False}


def check(name, model, params, instructions, tmp_path, instructor=None):
    encoder = load_encoder(str(name), cache_dir=tmp_path / "cache", precision="fp32")
    assert set(encoder.card.formats) == set(instructions)

    def formula(task_format, ids):
        read = encoder.tokenizer.encode(instructions[task_format]).ids
        read = read if len(read) <= 32 else [*read[:31], read[-1]]
        return instructed_vector(model, instructor or model, params, read, ids)

    check_vectors(encoder, formula)
    return encoder.card


def check_file(path, instructions, tmp_path, name=None):
    weights = read_weights(path)
    model, instructor = (
        Oracle(path.parent, under(weights, part)) if any(key.startswith(part) for key in weights) else None
        for part in (CONTEXT, INSTRUCT)
    )
    return check(name or path, model, PLAIN | read_params(path), instructions, tmp_path, instructor)


@pytest.mark.torch
@pytest.mark.parametrize("which", INSTRUCTED_LAYERS)
def test_every_choice_of_layers_is_read(which, tmp_path):
    first = min(INSTRUCTED_LAYERS[which])
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=1, instruct_type=which, layers=first + 3)
    card = find_model(str(path)).card
    assert card.network.options["layers"] == [one for one in range(first + 3) if one in INSTRUCTED_LAYERS[which]]
    assert card.network.shared_layers == first


@pytest.mark.torch
@pytest.mark.parametrize("which", ["all", "mod3", "ge6"])
def test_instructions_come_in_from_the_first_layer_or_later_in_each_or_in_some(which, tmp_path):
    first = min(INSTRUCTED_LAYERS[which])
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=1, instruct_type=which, layers=first + 2)
    card = check_file(path, FACTORS, tmp_path)
    assert card.network.shared_layers == first
    assert card.heads[Format.PRX] == card.heads[Format.QRY]
    assert (card.architecture, card.similarity) == ("instructions", "dot")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("gate", "adaptor", "mean"), [(False, False, False), (True, True, False), (True, False, True), (False, True, True)]
)
def test_gates_adaptors_and_means(gate, adaptor, mean, tmp_path):
    path = make_unipr(
        tmp_path / "m" / "m.ckpt", seed=2, use_attn_gate=gate, proj_adaptor=adaptor, mean_pool=mean, layers=3
    )
    assert check_file(path, FACTORS, tmp_path).similarity == ("cosine" if mean else "dot")


@pytest.mark.torch
def test_the_own_card_gives_instructions(tmp_path):
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=3, use_attn_gate=True, layers=2)
    write_card(path, instructions=OWN)
    card = check_file(path, {Format(key): text for key, text in OWN.items()}, tmp_path, name=path.parent)
    assert len(set(card.heads.values())) == 3
    long = card.network.options["instructions"][card.heads[Format.CLF]]
    assert (len(long), long[-1]) == (32, 3)


@pytest.mark.torch
def test_scimult_instruction_is_a_vanilla_checkpoint_whose_card_says_so(tmp_path):
    path = make_scimult(tmp_path / "m" / "instruction.ckpt", seed=4, moe_type=None, layers=2)
    plain = find_model(str(path)).card
    write_card(path, architecture="instructions", instructions=OWN)
    texts = {Format(key): text for key, text in OWN.items()}
    card = check_file(path, texts, tmp_path)
    assert card.similarity == "dot"
    assert card.fingerprint != plain.fingerprint
    # Or as the base of another folder.
    write_card(path)
    write_card(tmp_path / "told" / "x", architecture="instructions", instructions=OWN, base="../m/instruction.ckpt")
    assert check_file(path, texts, tmp_path, name=tmp_path / "told").fingerprint == card.fingerprint


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_plain_folder_reads_instructions_if_its_card_says_so(family, tmp_path):
    folder = make_model(tmp_path / "m", architecture=family)
    write_card(folder / "x", architecture="instructions", instructions={"prx": "find a cell", "clf": "drug"})
    card = check(folder, Oracle(folder), PLAIN, {Format.PRX: "find a cell", Format.CLF: "drug"}, tmp_path)
    assert (card.similarity, card.network.options["layers"]) == ("l2", [0, 1])


@pytest.mark.torch
def test_padding_of_an_instruction_changes_nothing(tmp_path):
    """The papers pad instructions to 32 tokens and mask those; without padding the vector is the same."""
    import torch
    from transformers import BertModel

    folder = make_model(tmp_path / "m")
    write_card(folder / "x", architecture="instructions", instructions={"prx": "find a cell"})
    encoder = load_encoder(str(folder), cache_dir=tmp_path / "cache", precision="fp32")
    read, ids = (encoder.tokenizer.encode(text).ids for text in ("find a cell", "virus lung"))
    padded = torch.zeros(1, 32, dtype=torch.int64)
    padded[0, : len(read)] = torch.tensor(read)
    mask = (torch.arange(32) < len(read)).long()[None]
    model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager").eval()
    with torch.inference_mode():
        states = model(padded, attention_mask=mask, output_hidden_states=True).hidden_states
        hidden = model.embeddings(torch.tensor([ids]))
        for context, layer in zip(states, model.encoder.layer, strict=False):
            own = layer.attention.self
            seen = torch.cat([context, hidden], dim=1)
            heads = [
                part.unflatten(-1, (4, -1)).transpose(1, 2)
                for part in (own.query(hidden), own.key(seen), own.value(seen))
            ]
            kept = torch.cat([mask, torch.ones(1, len(ids), dtype=torch.int64)], dim=1).bool()[:, None, None]
            mixed = torch.nn.functional.scaled_dot_product_attention(*heads, attn_mask=kept).transpose(1, 2).flatten(2)
            attended = layer.attention.output(mixed, hidden)
            hidden = layer.output(layer.intermediate(attended), attended)
    np.testing.assert_allclose(encoder.encode(["virus lung"])[0], hidden[0, 0].numpy(), rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, "must give each format its instruction, such as"),
        ({"instructions": ["find"]}, "must give each format its instruction"),
        ({"instructions": {"prx": 1}}, "not a string for each format"),
        ({"instructions": {"search": "find"}}, "the formats are clf, rgn, prx, qry"),
    ],
)
def test_instructions_that_can_not_be_are_refused(own, told, tmp_path):
    folder = make_model(tmp_path / "m")
    write_card(folder / "x", architecture="instructions", **own)
    with pytest.raises(InputError, match=told):
        find_model(str(folder))


GATE = "encoder.layer.0.attention.self.gate"


def _all(edit):
    """Edit each of the three models alike."""

    def edited(weights):
        parts = {name.split(".encoder.")[0] for name in weights}
        own = {
            part: edit({n.split(".encoder.", 1)[1]: a for n, a in weights.items() if n.startswith(part)})
            for part in parts
        }
        return {f"{part}.encoder.{name}": array for part, arrays in own.items() for name, array in arrays.items()}

    return edited


@pytest.mark.torch
@pytest.mark.parametrize(
    ("edit", "changes", "told"),
    [
        (dict, {"deep_instruct_fusion": False}, "was made with deep_instruct_fusion False"),
        (dict, {"use_moe": True, "moe_type": "mod2:attn", "num_expert": 3}, "both experts and instructions"),
        (dict, {"instruct_type": "odd"}, "has 'odd' layers"),
        (dict, {"use_attn_gate": False}, f"holds {GATE}, unlike its encoder_params say"),
        (dict, {"proj_adaptor": True}, r"lacks encoder\.layer\.0\.attention\.self\.adaptor\.weight"),
        (dict, {"instruct_type": "mod2"}, f"hold {GATE}, which the architecture instructions does not have"),
        (_all(lambda w: {n: a for n, a in w.items() if n != GATE}), {}, f"lacks {GATE}"),
        (_all(lambda w: w | {GATE: np.ones(7, np.float32)}), {}, r"of shape \(7,\), and there are 4 heads"),
        (_all(lambda w: w | {GATE: w[GATE] * np.nan}), {}, f"are damaged: {GATE}"),
    ],
)
def test_checkpoints_that_would_be_misread_are_refused(edit, changes, told, tmp_path):
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=5, use_attn_gate=True, layers=2)
    save(path, edit(read_weights(path)), read_params(path) | changes)
    with pytest.raises(InputError, match=told):
        load_encoder(str(path), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"])


@pytest.mark.torch
@pytest.mark.parametrize(
    ("which", "options"),
    [("all", {}), ("mod3", {"use_attn_gate": True, "proj_adaptor": True, "mean_pool": True}), ("embed", {})],
    ids=str,
)
def test_another_network_may_read_the_instructions(which, options, tmp_path):
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=6, shared=False, instruct_type=which, **options)
    card = check_file(path, FACTORS, tmp_path)
    assert card.architecture == "instruction-encoder"
    assert card.network.shared_layers == min(INSTRUCTED_LAYERS[which])


@pytest.mark.torch
def test_queries_and_papers_may_have_a_network_each_beside_that_of_instructions(tmp_path):
    path = make_unipr(tmp_path / "m" / "m.ckpt", seed=6, shared=False, layers=2)
    weights = read_weights(path)
    changed = {name: 2 * array if name.startswith("question_model") else array for name, array in weights.items()}
    save(path, changed, read_params(path))
    encoder = load_encoder(str(path), cache_dir=tmp_path / "cache", precision="fp32")
    assert encoder.card.architecture == "routes"
    instructor = Oracle(path.parent, under(changed, INSTRUCT))
    for task_format, part in ((Format.QRY, "question_model.encoder."), (Format.PRX, CONTEXT)):
        member = encoder.members[task_format]
        assert member.card.architecture == "instruction-encoder"
        ids, read = (member.tokenizer.encode(text).ids for text in ("virus lung", SEMANTIC))
        model = Oracle(path.parent, under(changed, part))
        expected = instructed_vector(model, instructor, PLAIN | read_params(path), read, ids)
        np.testing.assert_allclose(encoder.encode(["virus lung"], task_format)[0], expected, rtol=0, atol=1e-4)


def instructed_by(tmp_path, **own):
    """A folder of a base, and another whose network reads the instructions."""
    make_model(tmp_path / "reader", seed=2)
    make_model(tmp_path / "base")
    card = {"architecture": "instruction-encoder", "base": "../base", "instructor": "../reader"}
    write_card(tmp_path / "m" / "x", **card | {"instructions": {"prx": "find a cell", "clf": "drug"}} | own)
    return tmp_path / "m"


def test_a_card_names_the_network_that_reads_instructions(tmp_path):
    folder = instructed_by(tmp_path)
    texts = {Format.PRX: "find a cell", Format.CLF: "drug"}
    models = Oracle(tmp_path / "base"), Oracle(tmp_path / "reader")
    card = check(folder, models[0], PLAIN, texts, tmp_path, models[1])
    assert card.architecture == "instruction-encoder"
    instructed_by(tmp_path, instructor="../base")
    assert find_model(str(folder)).card.fingerprint != card.fingerprint


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"instructor": None}, "must name the network that reads the instructions as its instructor"),
        ({"instructor": "../deep"}, "name a plain network of the base's family and size"),
        ({"instructor": "../roberta"}, "name a plain network of the base's family and size"),
        ({"instructor": "../words"}, "whose tokenizer has other words than the base's"),
        ({"architecture": "instructions"}, "names an instructor; its architecture must be instruction-encoder"),
    ],
)
def test_readers_that_do_not_go_with_the_base_are_refused(own, told, tmp_path):
    make_model(tmp_path / "deep", layers=3)
    make_model(tmp_path / "roberta", architecture="roberta")
    words = make_model(tmp_path / "words") / "tokenizer.json"
    words.write_text(words.read_text().replace('"virus"', '"viruses"'))
    with pytest.raises(InputError, match=told):
        find_model(str(instructed_by(tmp_path, **own)))
