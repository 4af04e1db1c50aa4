"""SciMult's checkpoints: every kind of experts gives the formula's vectors, and what would give others is refused."""

from __future__ import annotations

import json
import shutil

import huggingface_hub
import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.models.model import read_checked
from encoders.registry import find_model
from encoders.tokens.tokenizer import load_tokenizer
from eval.embedder import Text, by_encoder
from tests.encoders.checkpoints import make_scimult, read_params, read_weights
from tests.encoders.formulas.experts import expert_vector
from tests.encoders.formulas.layers import EXPERT_LAYERS
from tests.encoders.layouts.agreement import check_vectors
from tests.encoders.oracle import Oracle, under

pytestmark = pytest.mark.torch

SEARCH = {Format.CLF: 2, Format.PRX: 0, Format.QRY: 0}
KINDS = ("attn", "fwd", "attn+fwd")
CONTEXT, QUESTION = "ctx_model.encoder.", "question_model.encoder."


def save(path, weights, params, **others):
    """Save a checkpoint again, after a change."""
    import torch

    state = {name: torch.tensor(array) for name, array in weights.items()}
    torch.save({"model_dict": state, "encoder_params": params, **others}, path)


def write_card(path, **own):
    path.parent.mkdir(exist_ok=True)
    (path.parent / "ses_card.json").write_text(json.dumps(own))


def check(path, tmp_path, experts=None, model=None, parts=()):
    """Each format's vectors are those of its expert, by the formula, in the model that `parts` names for it."""
    encoder = load_encoder(str(model or path), cache_dir=tmp_path / "cache", precision="fp32")
    weights, params = read_weights(path), read_params(path)
    models = {part: Oracle(path.parent, under(weights, part)) for part in (CONTEXT, QUESTION)}
    chosen = experts or dict.fromkeys(Format)
    assert set(encoder.card.formats) == set(chosen)

    def formula(task_format, ids):
        part = QUESTION if task_format in parts else CONTEXT
        return expert_vector(models[part], params, ids, chosen[task_format])

    if hasattr(encoder, "tokenizer"):
        check_vectors(encoder, formula)
        return encoder
    for task_format in encoder.card.formats:
        member = encoder.members[task_format]
        ids = member.tokenizer.encode("virus lung cell").ids
        expected = formula(task_format, ids)
        np.testing.assert_allclose(encoder.encode(["virus lung cell"], task_format)[0], expected, rtol=0, atol=1e-4)
    return encoder


@pytest.mark.parametrize("which", EXPERT_LAYERS)
def test_every_choice_of_layers_is_read(which, tmp_path):
    layers = min(EXPERT_LAYERS[which]) + 2
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=1, moe_type=f"{which}:attn+fwd", layers=layers)
    model = find_model(str(path))
    assert model.card.network.shared_layers == min(EXPERT_LAYERS[which])
    names = read_checked(model, tuple(dict.fromkeys(model.card.heads.values())))
    having = {int(name.split(".")[2]) for name in names if ".moe_" in name}
    assert having == {one for one in range(layers) if one in EXPERT_LAYERS[which]}


@pytest.mark.parametrize(("which", "kind"), [*(("mod2", kind) for kind in KINDS), ("mod3", "attn+fwd")])
def test_experts_told_by_the_task(which, kind, tmp_path):
    layers = min(EXPERT_LAYERS[which]) + 2  # one above them is shared again
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=1, moe_type=f"{which}:{kind}", layers=layers)
    card = check(path, tmp_path, SEARCH).card
    assert card.network.shared_layers == min(EXPERT_LAYERS[which])
    assert (card.architecture, card.similarity) == ("experts", "dot")


@pytest.mark.parametrize("per_layer", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, "tok+fwd"])
def test_experts_that_a_gate_chooses(kind, per_layer, tmp_path):
    path = make_scimult(
        tmp_path / "m" / "moe.ckpt", seed=2, moe_type=f"mod2:{kind}", infer=True, per_layer_gating=per_layer
    )
    card = check(path, tmp_path).card
    assert len(set(card.heads.values())) == 1
    assert card.network.options == {"experts": 3, "gate": "token" if "tok" in kind else "text"}


@pytest.mark.parametrize("moe_type", [None, "mod2:fwd"])
def test_means_are_compared_by_cosine(moe_type, tmp_path):
    path = make_scimult(tmp_path / "m" / "m.ckpt", seed=3, moe_type=moe_type, mean_pool=True, concat=True)
    card = check(path, tmp_path, SEARCH if moe_type else None).card
    assert (card.similarity, card.network.pooling, card.network.normalize) == ("cosine", "mean", True)


def test_vanilla_is_plain_and_its_folder_serves_as_well(tmp_path):
    path = make_scimult(tmp_path / "m" / "vanilla.ckpt", seed=4, moe_type=None)
    card = check(path, tmp_path, model=path.parent).card
    assert (card.architecture, card.similarity, card.network.pooling) == ("plain", "dot", "cls")
    shutil.copy(path, path.parent / "other.ckpt")
    with pytest.raises(InputError, match=r"holds 2 checkpoints; name one of them, such as .*other\.ckpt\."):
        find_model(str(path.parent))
    assert find_model(str(path)).card.fingerprint == card.fingerprint


@pytest.mark.parametrize("shared", [True, False])
def test_papers_without_an_abstract_keep_the_separator_and_queries_have_none(shared, tmp_path):
    path = make_scimult(tmp_path / "m" / "m.ckpt", seed=4, moe_type=None, shared=shared, layers=1)
    encoder = load_encoder(str(path), cache_dir=tmp_path, precision="fp32")
    embed = by_encoder(encoder)
    # The papers' programs join title, separator and abstract by spaces, whatever is empty.
    for parts, tokens in {("virus", ""): ["virus", "[SEP]"], ("", "lung"): ["[SEP]", "lung"]}.items():
        text, tokenizer = encoder.card.text(*parts), load_tokenizer(path.parent, encoder.card)
        assert tokenizer.encode(text).tokens == ["[CLS]", *tokens, "[SEP]"]
        np.testing.assert_array_equal(embed([Text("1", *parts)], Format.PRX).matrix, encoder.encode([text], Format.PRX))
    query = embed([Text("1", "virus")], Format.QRY).matrix
    np.testing.assert_array_equal(query, encoder.encode(["virus"], Format.QRY))
    write_card(path, empty_parts="dropped")
    assert find_model(str(path)).card.text("virus", "") == "virus"


@pytest.mark.parametrize("moe_type", [None, "mod2:attn"])
def test_queries_and_papers_may_have_a_model_each(moe_type, tmp_path):
    path = make_scimult(tmp_path / "m" / "m.ckpt", seed=5, moe_type=moe_type, shared=False, layers=2)
    write_card(path, max_tokens=100)
    encoder = check(path, tmp_path, SEARCH if moe_type else None, parts=(Format.QRY,))
    assert (encoder.card.architecture, encoder.members[Format.QRY].card.max_tokens) == ("routes", 100)
    fingerprints = {encoder.members[one].card.fingerprint for one in (Format.QRY, Format.PRX)}
    assert len(fingerprints) == 2  # of one file


def test_equal_models_are_one_even_if_saved_twice(tmp_path):
    path = make_scimult(tmp_path / "m" / "m.ckpt", seed=6, moe_type=None, layers=2)
    whole, weights = path.stat().st_size, read_weights(path)
    save(path, weights, read_params(path))
    assert path.stat().st_size > 1.5 * whole
    assert find_model(str(path)).card.architecture == "plain"


def test_the_own_card_chooses_experts(tmp_path):
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=7, experts=2)
    with pytest.raises(InputError, match="must say which of the model's 2 experts serves which format"):
        find_model(str(path))
    write_card(path, experts={"prx": 1, "rgn": 0})
    check(path, tmp_path, {Format.PRX: 1, Format.RGN: 0})
    write_card(path, experts={"prx": 2})
    with pytest.raises(InputError, match=r"sets experts to 2, and the model's are numbered 0 to 1\."):
        find_model(str(path))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"projection_dim": 128}, "was made with projection_dim 128, which ses can't run"),
        ({"factor_rep": True}, "was made with factor_rep True"),
        ({"mean_pool_ctx_only": True}, "mean_pool_ctx_only True"),
        ({"num_q_expert": 1}, "num_q_expert 1"),
        ({"moe_type": "mod2:none"}, "3 experts of moe_type 'mod2:none'"),
        ({"moe_type": "mod2:tok+fwd"}, "'mod2:tok.fwd', which ses can't run"),
        ({"moe_type": "odd:attn"}, "has 'odd' layers with something of their own; ses knows mod2, mod3"),
        ({"moe_type": "mod3:attn"}, r"lacks encoder\.layer\.2\.attention\.self\.moe_query\.0.* mod3:attn has"),
        ({"moe_type": "mod2:fwd"}, r"lacks encoder\.layer\.1\.moe_layer.*which its moe_type mod2:fwd has"),
        ({"num_expert": 4}, "must say which of the model's 4 experts"),
        ({"num_expert": 10**9}, "has 1000000000 experts"),
        ({"use_infer_expert": True}, r"lacks encoder\.expert_gate\.fwd_func\.weight"),
        ({"use_infer_expert": True, "per_layer_gating": True}, r"lacks encoder\.expert_gate\.1\.fwd_func\.weight"),
        ({"use_moe": False}, r"they lack encoder\.layer\.1\.attention\..* and hold .*moe_dense\.0"),
        ({"mean_pool": "perhaps"}, "its encoder_params lack mean_pool, or have it wrong"),
        ({"pretrained_model_cfg": None}, "lack pretrained_model_cfg"),
    ],
)
def test_settings_that_would_change_a_vector_are_refused(changes, told, tmp_path):
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=8)
    save(path, read_weights(path), read_params(path) | changes)
    with pytest.raises(InputError, match=told):
        load_encoder(str(path), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"])


EXPERT = "encoder.layer.1.attention.self.moe_query.{}.weight"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda w: {n: a for n, a in w.items() if "moe_dense.2" not in n}, r"they lack encoder.layer.1.*moe_dense\.2"),
        (lambda w: {n: a for n, a in w.items() if EXPERT.format(0) not in n}, f"lacks {EXPERT.format(0)}"),
        (lambda w: w | _both(EXPERT.format(3), np.ones(3, np.float32)), f"hold {EXPERT.format(3)}"),
        (lambda w: w | _both(EXPERT.format(0), np.full((64, 64), np.nan, np.float32)), f"damaged: {EXPERT.format(0)}"),
        (lambda w: w | {"question_model.encode_proj.0.weight": np.ones(3, np.float32)}, r"encode_proj\.0\.weight, wh"),
        (lambda w: {"a.b": np.ones(3, np.float32)}, "holds neither question_model nor ctx_model"),
    ],
)
def test_weights_that_do_not_fit_are_refused_by_name(edit, told, tmp_path):
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=9)
    save(path, edit(read_weights(path)), read_params(path))
    with pytest.raises(InputError, match=told):
        load_encoder(str(path), cache_dir=tmp_path / "cache", precision="fp32").encode(["x"])


def _both(name, array):
    return {f"{part}{name}": array for part in (CONTEXT, QUESTION)}


def test_settings_that_are_objects_are_not_read(tmp_path):
    import torch

    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=10)
    torch.save({"model_dict": {}, "encoder_params": {"base": path}}, path)
    with pytest.raises(InputError, match="holds more than weights and plain values, which could run code"):
        find_model(str(path))


def test_the_base_comes_from_the_hub_if_it_is_not_beside_the_checkpoint(tmp_path, monkeypatch):
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=11)
    hub, asked = tmp_path / "hub", []
    hub.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.move(path.parent / name, hub / name)

    def snapshot_download(repository, *, revision, allow_patterns):
        asked.append((repository, allow_patterns))
        return str(hub)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    found = find_model(str(path))
    assert (found.folder, found.card.architecture) == (hub, "experts")
    described = ["config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    assert asked == [("microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract", described)]


def test_a_base_that_can_not_be_had_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    path = make_scimult(tmp_path / "m" / "moe.ckpt", seed=12)
    (path.parent / "config.json").unlink()
    with pytest.raises(UnavailableError, match=r"or put the config\.json and the tokenizer\.json or vocab\.txt of"):
        find_model(str(path))
    save(path, read_weights(path), read_params(path) | {"pretrained_model_cfg": "/home/someone/bert"})
    with pytest.raises(InputError, match="began with '/home/someone/bert', which is not on the hub; put the config"):
        find_model(str(path))
