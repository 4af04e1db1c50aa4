"""The formulas against each other, where two of them must agree, and the base against transformers."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.encoders import checkpoints
from tests.encoders.formulas.adapters import adapter_vector, fusion_vector
from tests.encoders.formulas.experts import expert_vector
from tests.encoders.formulas.instructions import instructed_vector
from tests.encoders.formulas.layers import EXPERT_LAYERS, INSTRUCTED_LAYERS
from tests.encoders.formulas.pals import pals_vector
from tests.encoders.formulas.shared_codes import code_vector
from tests.encoders.oracle import Oracle
from tests.tiny import make_model

IDS, OTHER = [2, 10, 20, 30, 11, 25, 3], [2, 33, 34, 40, 3]
TEXTS = [IDS, OTHER, *([2, *range(5 + n, 5 + 2 * n), 3] for n in (0, 1, 3, 6, 15, 30))]


def same(a, b):
    return np.allclose(a, b, rtol=0, atol=1e-9)


def base_of(tmp_path, layers=3):
    folder = make_model(tmp_path / "base", layers=layers)
    return Oracle(folder), folder


def scimult(tmp_path, kind, *, layers=3, **given):
    base, folder = base_of(tmp_path, layers)
    params = checkpoints.biencoder_params(use_moe=True, moe_type=kind, num_expert=3, **given)
    return base, folder, params, checkpoints.scimult_state(base, params, seed=1)


def unipr(tmp_path, kind="all", *, gate=False, adaptor=False, layers=3):
    base, folder = base_of(tmp_path, layers)
    params = checkpoints.biencoder_params(instruct_type=kind, use_attn_gate=gate, proj_adaptor=adaptor)
    return base, folder, params, checkpoints.unipr_state(base, params, seed=1)


def with_pals(tmp_path, *, low_rank):
    base, folder = base_of(tmp_path)
    config = base.config | {"pals": not low_rank, "hidden_size_aug": 24, "num_tasks": 2}
    (folder / "config.json").write_text(json.dumps(config))
    return base, folder, checkpoints.pals_state(base, config, seed=1)


def adapter_of(tmp_path, config, name="[PRX]", **options):
    folder = checkpoints.make_adapter(tmp_path / f"a {options}", config, name, safetensors=True, **options)
    return load_file(folder / "adapter.safetensors")


@pytest.mark.torch
@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_every_layer_of_the_base_is_that_of_transformers(architecture, tmp_path):
    import torch
    from transformers import AutoModel

    folder = make_model(tmp_path / "m", architecture=architecture, layers=3)
    with torch.inference_mode():
        states = AutoModel.from_pretrained(folder)(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    np.testing.assert_allclose(Oracle(folder).states(IDS), torch.cat(states).numpy(), atol=1e-4)


def test_an_adapter_that_adds_nothing_leaves_the_base(tmp_path):
    base, _ = base_of(tmp_path)
    weights = adapter_of(tmp_path, base.config, seed=1)
    assert not same(adapter_vector(base, weights, "[PRX]", IDS), base.hidden(IDS)[0])
    none = {name: 0 * array if "adapter_up" in name else array for name, array in weights.items()}
    assert same(adapter_vector(base, none, "[PRX]", IDS), base.hidden(IDS)[0])


def test_an_adapter_is_the_same_by_its_older_names_and_under_a_head(tmp_path):
    base, _ = base_of(tmp_path)
    expected = adapter_vector(base, adapter_of(tmp_path, base.config, seed=1), "[PRX]", IDS)
    for options in ({"legacy": True}, {"prefix": "bert."}, {"legacy": True, "prefix": "bert."}):
        assert same(adapter_vector(base, adapter_of(tmp_path, base.config, seed=1, **options), "[PRX]", IDS), expected)


def test_the_layers_that_an_adapter_leaves_out_are_the_bases(tmp_path):
    base, _ = base_of(tmp_path)
    weights = adapter_of(tmp_path, base.config, seed=1, leave_out=[0, 1])
    vector = adapter_vector(base, weights, "[PRX]", IDS)
    last = base.states(IDS)[2]
    attended = base.attend(2, last, last)
    up, down = (next(w.astype(float) for k, w in weights.items() if part in k) for part in ("up.weight", "0.weight"))
    up_bias, down_bias = (next(w for k, w in weights.items() if part in k) for part in ("up.bias", "0.bias"))
    added = np.maximum(base.finish(2, attended) @ down.T + down_bias, 0) @ up.T + up_bias
    assert same(vector, base.finish(2, attended, added)[0])


def test_fusing_an_adapter_with_itself_is_that_adapter(tmp_path):
    base, _ = base_of(tmp_path)
    adapters = {name: adapter_of(tmp_path, base.config, name, seed=1) for name in ("[PRX]", "[QRY]")}
    names = ["[QRY]", "[PRX]"]
    folder = checkpoints.make_fusion(tmp_path / "f", base.config, names, seed=2, safetensors=True)
    fusion = load_file(folder / "model_adapter_fusion.safetensors")
    plain = {name: np.eye(64) if name.endswith("value.weight") else array for name, array in fusion.items()}
    expected = adapter_vector(base, adapters["[PRX]"], "[PRX]", IDS)
    assert same(fusion_vector(base, adapters, plain, names, IDS), expected)
    assert not same(fusion_vector(base, adapters, fusion, names, IDS), expected)


@pytest.mark.parametrize("low_rank", [False, True])
def test_pals_that_add_nothing_leave_the_base(low_rank, tmp_path):
    base, folder, weights = with_pals(tmp_path, low_rank=low_rank)
    vectors = [pals_vector(Oracle(folder, weights), task, IDS) for task in (0, 1)]
    assert not same(*vectors)
    assert not same(vectors[0], base.hidden(IDS)[0])
    none = {name: 0 * array if "aug_dense2" in name else array for name, array in weights.items()}
    assert same(pals_vector(Oracle(folder, none), 0, IDS), base.hidden(IDS)[0])


@pytest.mark.parametrize("kind", ["attn", "fwd", "attn+fwd", "tok+fwd"])
@pytest.mark.parametrize("which", EXPERT_LAYERS)
def test_experts_that_are_the_base_give_the_base(which, kind, tmp_path):
    layers = min(i for i in EXPERT_LAYERS[which]) + 1
    base, folder, params, weights = scimult(tmp_path, f"{which}:{kind}", layers=layers, use_infer_expert="tok" in kind)
    assert not same(expert_vector(Oracle(folder, weights), params, IDS, 0), base.hidden(IDS)[0])
    names = {r"moe_(query|key|value)\.\d": r"\1", r"moe_dense\.\d": "dense"}
    names |= {r"moe_layer\.interm_layers\.\d": "intermediate", r"moe_layer\.output_layers\.\d": "output"}
    copies = {}
    for name, array in weights.items():
        old = name
        for new, of_base in names.items():
            old = re.sub(new, of_base, old)
        copies[name] = base.weights.get(old, array)
    assert same(expert_vector(Oracle(folder, copies), params, IDS, 0), base.hidden(IDS)[0])


@pytest.mark.parametrize("per_layer", [False, True])
@pytest.mark.parametrize("kind", ["attn", "fwd", "attn+fwd", "tok+fwd"])
def test_a_gate_that_always_picks_one_expert_is_that_task(kind, per_layer, tmp_path):
    gates = {"use_infer_expert": True, "per_layer_gating": per_layer}
    _, folder, params, weights = scimult(tmp_path, f"mod2:{kind}", layers=4, **gates)
    fixed = params | {"use_infer_expert": False}
    own = [expert_vector(Oracle(folder, weights), params, text) for text in TEXTS]
    for expert in range(3):
        told = {n: a + 100 * (np.arange(3) == expert) if "fwd_func.bias" in n else a for n, a in weights.items()}
        expected = [expert_vector(Oracle(folder, weights), fixed, text, expert) for text in TEXTS]
        assert same([expert_vector(Oracle(folder, told), params, text) for text in TEXTS], expected)
        assert not same(own, expected)


def test_gates_pick_by_text_or_by_token(tmp_path):
    _, folder, params, weights = scimult(tmp_path, "mod2:fwd", layers=2, use_infer_expert=True)
    by_token = params | {"moe_type": "mod2:tok+fwd"}
    model, fixed = Oracle(folder, weights), params | {"use_infer_expert": False}
    picks = set()
    for text in TEXTS:
        of_text, of_token = (expert_vector(model, how, text) for how in (params, by_token))
        assert same(of_text, of_token)  # in the last layer, the first token's own pick is the text's
        picks |= {expert for expert in range(3) if same(of_text, expert_vector(model, fixed, text, expert))}
    assert len(picks) > 1


@pytest.mark.parametrize("kind", INSTRUCTED_LAYERS)
def test_a_text_that_instructs_itself_stays_what_it_was(kind, tmp_path):
    layers = min(INSTRUCTED_LAYERS[kind]) + 1
    base, folder, params, weights = unipr(tmp_path, kind, layers=layers)
    model = Oracle(folder, weights)
    expected = base.hidden(IDS)[0]
    assert same(instructed_vector(model, model, params, IDS, IDS), expected)  # each key and value only stands twice
    assert same(instructed_vector(model, model, params, [], IDS), expected)
    assert not same(instructed_vector(model, model, params, OTHER, IDS), expected)


def test_closed_gates_and_adaptors_that_change_nothing_do_nothing(tmp_path):
    base, folder, params, weights = unipr(tmp_path, gate=True, adaptor=True)
    closed = Oracle(folder, {name: 0 * array if name.endswith("gate") else array for name, array in weights.items()})
    assert same(instructed_vector(closed, closed, params, OTHER, IDS), base.hidden(IDS)[0])
    same_states = {name: np.eye(64) if name.endswith("adaptor.weight") else array for name, array in weights.items()}
    same_states |= {name: 0 * array for name, array in weights.items() if name.endswith("adaptor.bias")}
    idle, plain = Oracle(folder, same_states), params | {"proj_adaptor": False}
    assert same(*(instructed_vector(idle, idle, how, OTHER, IDS) for how in (params, plain)))


def test_a_code_with_the_embedding_of_the_first_token_is_that_token(tmp_path):
    base, _ = base_of(tmp_path)
    words = base.weights["embeddings.word_embeddings.weight"]
    assert same(code_vector(base, words[IDS[0]], IDS), base.hidden(IDS)[0])
    assert not same(code_vector(base, words[7], IDS), base.hidden(IDS)[0])


# Adding a constant to all of a query's scores changes nothing, so biases of keys don't; nor do other tasks' parts.
IDLE = r"key(\.0)?\.bias|pooler|position_ids|multi_layers\.1|dense2?\.1|moe_\w+\.[12]|_layers\.[12]"


@pytest.mark.parametrize("architecture", ["pals", "low rank", "experts", "instructions", "attention gates"])
def test_every_weight_of_a_checkpoint_matters(architecture, tmp_path):
    if architecture in ("pals", "low rank"):
        _, folder, weights = with_pals(tmp_path, low_rank=architecture == "low rank")
        part = r"multi_layers\.0\.aug_dense" if architecture == "pals" else "-"  # the trunk's, once more

        def vector(model):
            return pals_vector(model, 0, IDS)
    elif architecture == "experts":
        _, folder, params, weights = scimult(tmp_path, "mod2:attn+fwd", mean_pool=True)
        part = "-"

        def vector(model):
            return expert_vector(model, params, IDS, 0)
    else:
        _, folder, params, weights = unipr(tmp_path, gate="gates" in architecture, adaptor=True)
        part = "-"

        def vector(model):
            return instructed_vector(model, model, params, OTHER, IDS)

    expected = vector(Oracle(folder, weights))
    for name, array in weights.items():
        changed = vector(Oracle(folder, weights | {name: array + 1 + np.arange(array.size).reshape(array.shape) % 5}))
        assert same(changed, expected) == bool(re.search(f"{IDLE}|{part}", name)), name


@pytest.mark.torch
def test_files_hold_the_names_that_their_programs_give(tmp_path):
    path = checkpoints.make_scimult(tmp_path / "s" / "scimult_moe.ckpt", seed=1, layers=2, moe_type="mod2:attn")
    apart = checkpoints.make_scimult(tmp_path / "t" / "scimult_moe.ckpt", seed=1, layers=2, shared=False)
    state = checkpoints.read_weights(path)
    assert "question_model.encoder.encoder.layer.1.attention.self.moe_query.2.bias" in state
    assert state["ctx_model.encoder.embeddings.position_ids"].dtype == np.int64
    assert path.stat().st_size < 0.6 * apart.stat().st_size  # two names of one tensor
    assert checkpoints.read_params(path)["moe_type"] == "mod2:attn"
    unipr_path = checkpoints.make_unipr(tmp_path / "u" / "model.ckpt", seed=1, use_attn_gate=True)
    gate = checkpoints.read_weights(unipr_path)["instruct_model.encoder.encoder.layer.3.attention.self.gate"]
    assert gate.shape == (1, 4, 1, 1)
    tree = checkpoints.make_scirepeval_tree(tmp_path / "tree", seed=1, fusion=True)
    fusion = checkpoints.read_weights(tree / "model" / "[RGN]_fusion" / "pytorch_model_adapter_fusion.bin")
    layer = "bert.encoder.layer.0.output.adapter_fusion_layer.[RGN],[CLF],[PRX],[QRY]"
    assert {f"{layer}.query.bias", f"{layer}.value.weight"} < fusion.keys()


@pytest.mark.torch
def test_transformers_reads_a_classifier_whose_vectors_are_the_oracles(tmp_path):
    import torch
    from transformers import BertForSequenceClassification

    folder = checkpoints.make_miread(tmp_path / "m", seed=1)
    weights = checkpoints.read_weights(folder / "pytorch_model.bin")
    model, loading = BertForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert not loading["missing_keys"]
    with torch.inference_mode():
        expected = model.eval()(torch.tensor([IDS]), output_hidden_states=True).hidden_states[-1][0].numpy()
    base = Oracle(folder, {name.removeprefix("bert."): array for name, array in weights.items()})
    np.testing.assert_allclose(base.hidden(IDS), expected, atol=1e-4)
