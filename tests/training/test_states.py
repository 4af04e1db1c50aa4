"""Kept states: what a network makes of them, what runs on them come to, and what is refused."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.errors import InputError, UnavailableError
from encoders.models.model import read_checked
from encoders.models.module import as_module
from encoders.registry import find_model
from tests.tiny import make_model
from tests.training.recipes import read_recipe, write_recipe
from tests.training.test_train import all_weights, losses, same
from training import states
from training.train import train

pytestmark = pytest.mark.torch

LAST = {"layers": 1}


def run(folder, name, **values):
    recipe = write_recipe(folder, **{"options": LAST, "dropout": 0.0, "epochs": 2, "learning_rate": 0.001} | values)
    return train(read_recipe(recipe), folder / name)


def index(folder):
    """Return what a folder of states names: each text's hash and tokens."""
    return np.fromfile(folder / "texts.bin", dtype=[("text", "V16"), ("tokens", "<i8")]).tolist()


@pytest.fixture
def computed(monkeypatch):
    """Gather the token ids of the texts whose states are computed."""
    found, compute = [], states._computed
    monkeypatch.setattr(states, "_computed", lambda *given: found.extend(given[-1]) or compute(*given))
    return found


def test_layers_below_the_first_trained_one_are_frozen():
    def found(*names, shared=12, layers=12):
        card = SimpleNamespace(network=SimpleNamespace(shared_layers=shared, layers=layers))
        return states.frozen_layers(card, dict.fromkeys(names, 0))

    assert found("encoder.layer.7.output.dense.weight", "encoder.layer.10.a") == 7
    assert found("encoder.layer.7.a", "embeddings.words") == 0
    assert found("encoder.layer.7.a", shared=5) == 5
    assert found("encoder.layer.11.a", layers=12) == 11
    assert found("encoder.layer.12.a", layers=12) == 11
    assert found() == 0


def test_batches_of_texts_hold_so_many_tokens_of_the_longest():
    texts = {str(number): range(length) for number, length in enumerate((50, 30, 30, 10, 10, 10, 10, 10, 10, 0, 0))}
    assert list(states._batches(texts, 40)) == [["0"], ["1"], ["2"], ["3", "4", "5", "6"], ["7", "8", "9", "10"]]
    assert list(states._batches({}, 40)) == []


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_network_goes_on_from_its_own_states(tmp_path, layers):
    import torch

    model = find_model(str(make_model(tmp_path / "base", layers=3)))
    module = as_module(read_checked(model, ("",)), model.card).eval()
    ids, mask = torch.tensor([[2, 9, 11, 3], [2, 12, 3, 0]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    (whole,), (parts,) = module(ids, mask, [""]), module(module.trunk(ids, mask, layers), mask, [""])
    assert torch.equal(whole, parts)


@pytest.mark.parametrize("trains", ["adapters", "last"])
def test_runs_on_kept_states_have_the_same_losses(tmp_path, trains):
    objectives = ("cross-entropy", "triplet", "contrastive", "kl")
    plain = run(tmp_path, "plain", objectives=objectives, trains=trains)
    kept = run(tmp_path, "kept", objectives=objectives, trains=trains, keep_states="states")
    np.testing.assert_allclose(losses(tmp_path / "kept"), losses(tmp_path / "plain"), rtol=3e-3)
    assert kept.measures == pytest.approx(plain.measures, abs=0.1)
    (folder,) = (tmp_path / "states").iterdir()
    texts = index(folder)
    assert (folder / "states.bin").stat().st_size == sum(tokens for _, tokens in texts) * 64 * 2
    # 24 papers, 72 of the triplets, 24 queries with three candidates each; those of kl are those of contrastive.
    assert len({name for name, _ in texts}) == len(texts) <= 24 + 72 + 24 * 4


def test_the_states_are_read_and_not_computed_again(tmp_path):
    run(tmp_path, "first", keep_states="states")
    (file,) = (tmp_path / "states").glob("*/states.bin")
    file.write_bytes(bytes(file.stat().st_size))
    # Other tasks' options and seeds want the same states: those of zeros give other losses.
    run(tmp_path, "second", keep_states="states", seed=7, learning_rate=0.01)
    run(tmp_path, "third", keep_states="others", seed=7, learning_rate=0.01)
    assert losses(tmp_path / "second")[0] != pytest.approx(losses(tmp_path / "third")[0], rel=1e-3)
    assert len(list((tmp_path / "states").iterdir())) == 1


@pytest.mark.parametrize("values", [{"options": {"layers": 1}}, {"precision": "bf16"}, {"seed": 3}])
def test_states_of_another_base_are_kept_apart(tmp_path, values):
    task_files = {"options": {"layers": 2}, "base": str(make_model(tmp_path / "three", layers=3)), "steps": 1}
    run(tmp_path, "first", keep_states="states", **task_files)
    if "seed" in values:
        make_model(tmp_path / "three", layers=3, seed=1)
    run(tmp_path, "second", keep_states="states", **task_files | values)
    assert len(list((tmp_path / "states").iterdir())) == 2


def test_only_texts_that_are_new_are_computed(tmp_path, computed):
    run(tmp_path, "first", keep_states="states")
    (folder,) = (tmp_path / "states").iterdir()
    before, states_before = index(folder), (folder / "states.bin").read_bytes()
    computed.clear()
    # Cut texts are other texts, save those that are short anyway.
    run(tmp_path, "second", keep_states="states", max_tokens=12)
    after = index(folder)
    assert after[: len(before)] == before
    assert len({name for name, _ in after}) == len(after) > len(before)
    assert (folder / "states.bin").read_bytes().startswith(states_before)
    assert [len(ids) for ids in computed] == [tokens for _, tokens in after[len(before) :]]
    run(tmp_path, "plain", max_tokens=12)
    np.testing.assert_allclose(losses(tmp_path / "second"), losses(tmp_path / "plain"), rtol=3e-3)
    computed.clear()
    run(tmp_path, "third", keep_states="states", seed=1)
    assert not computed


@pytest.mark.parametrize("entry", [0, 5])
def test_an_interrupted_computation_resumes(tmp_path, monkeypatch, computed, entry):
    """The last of the texts that count is whole or, with part of an entry behind it, was being written."""
    monkeypatch.setattr(states, "_TOKENS_AT_ONCE", {"cpu": 64, "cuda": 64})
    run(tmp_path, "whole", keep_states="states")
    (folder,) = (tmp_path / "states").iterdir()
    wanted, texts = (folder / "states.bin").read_bytes(), (folder / "texts.bin").read_bytes()
    batches = [sum(tokens for _, tokens in index(folder)[:count]) for count in range(len(index(folder)))]
    done = next(count for count, tokens in enumerate(batches) if tokens > len(wanted) / 128 / 2)
    (folder / "states.bin").write_bytes(wanted[: batches[done] * 128 + 77])
    (folder / "texts.bin").write_bytes(texts[: done * 24 + entry])
    computed.clear()
    run(tmp_path, "resumed", keep_states="states")
    assert len(computed) == len(texts) // 24 - done
    assert (folder / "texts.bin").read_bytes() == texts
    np.testing.assert_allclose(losses(tmp_path / "resumed"), losses(tmp_path / "whole"), rtol=1e-4)


def test_states_that_somebody_removed_are_computed_again(tmp_path):
    run(tmp_path, "first", keep_states="states")
    (file,) = (tmp_path / "states").glob("*/states.bin")
    wanted = file.read_bytes()
    file.unlink()
    run(tmp_path, "second", keep_states="states")
    assert file.read_bytes() == wanted


def test_a_stopped_run_on_kept_states_resumes_to_the_same_weights(tmp_path):
    recipe = read_recipe(write_recipe(tmp_path, options=LAST, keep_states="states", epochs=2, validate_every=2))
    whole = train(recipe, tmp_path / "whole")
    train(recipe, tmp_path / "parts", minutes=1e-9)
    shutil.rmtree(tmp_path / "states")  # computed again, they are the same
    done = train(recipe, tmp_path / "parts", resume=True)
    assert same(whole.folder, done.folder)
    assert all_weights(whole.folder)


@pytest.mark.parametrize(
    ("trains", "options"), [("all", {}), ("shared-codes", {}), ("adapters", {}), ("last", {"layers": 2})]
)
def test_recipes_that_train_the_first_layers_are_refused(tmp_path, trains, options):
    recipe = write_recipe(tmp_path, trains=trains, options=options, keep_states="states")
    with pytest.raises(InputError, match="keep_states needs frozen layers below the first trained one"):
        train(read_recipe(recipe), tmp_path / "run")


def test_a_full_disk_is_told_with_the_size(tmp_path, monkeypatch):
    room = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    with pytest.raises(UnavailableError, match=r"The states take 0\.\d GB in .*states, and there is less room"):
        run(tmp_path, "run", keep_states="states")


def test_a_folder_in_place_of_the_lock_is_reported(tmp_path):
    run(tmp_path, "first", keep_states="states")
    (lock,) = (tmp_path / "states").glob("*/.lock")
    lock.unlink()
    lock.mkdir()
    with pytest.raises(UnavailableError, match=r"\.lock can't be locked \(Is a directory\)"):
        run(tmp_path, "second", keep_states="states")


def test_the_states_have_no_dropout(tmp_path):
    run(tmp_path, "without", keep_states="states")
    (file,) = (tmp_path / "states").glob("*/states.bin")
    wanted = file.read_bytes()
    shutil.rmtree(tmp_path / "states")
    run(tmp_path, "with", keep_states="states", dropout=0.5)
    assert file.read_bytes() == wanted
