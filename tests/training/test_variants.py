"""Several recipes in one file."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from tests.training.recipes import read_recipe, write_recipe
from training.recipe import read_variants


def with_variants(folder, *variants, **values):
    path = write_recipe(folder, ("triplet", "contrastive"), **values)
    path.write_text(path.read_text() + "".join(f"[[variants]]\n{variant}\n" for variant in variants))
    return path


def test_a_file_without_variants_is_one_recipe(tmp_path):
    path = write_recipe(tmp_path)
    assert read_variants(path) == {"": read_recipe(path)}


def test_a_variant_has_its_own_keys_and_the_recipes_others(tmp_path):
    path = with_variants(
        tmp_path,
        'name = "last"\ntrains = "last"\noptions = {layers = 1}\nseed = 7',
        'name = "contrast"\neach_task = {objective = "contrastive", options = {temperature = 0.1}}',
        options={"reduction": 4},
    )
    found = read_variants(path)
    assert list(found) == ["last", "contrast"]
    last, contrast = found.values()
    assert (last.trains, last.options, last.seed, last.learning_rate) == ("last", {"layers": 1}, 7, 0.01)
    assert [task.objective for task in last.tasks] == ["triplet", "contrastive"]
    assert (contrast.trains, contrast.options, contrast.seed) == ("adapters", {"reduction": 4}, 42)
    assert [task.objective for task in contrast.tasks] == ["contrastive"] * 2
    assert [task.options for task in contrast.tasks] == [{"temperature": 0.1}] * 2
    assert [task.name for task in contrast.tasks] == ["triplet", "contrastive"]
    assert all(task.train.is_file() for recipe in found.values() for task in recipe.tasks)


def test_a_variant_has_tasks_of_its_own(tmp_path):
    own = '{name = "mine", type = "triplet", train = "triplets.jsonl", format = "prx"}'
    (found,) = read_variants(with_variants(tmp_path, f'name = "v"\ntasks = [{own}]')).values()
    assert [task.name for task in found.tasks] == ["mine"]


def test_some_variants_by_name_in_the_order_of_the_file(tmp_path):
    path = with_variants(tmp_path, *(f'name = "{name}"\nseed = {seed}' for seed, name in enumerate("abc")))
    assert {name: recipe.seed for name, recipe in read_variants(path, ["c", "a"]).items()} == {"a": 0, "c": 2}
    with pytest.raises(InputError, match="has no variant 'd'; its variants are: a, b, c"):
        read_variants(path, ["d"])
    with pytest.raises(InputError, match="has no variant 'd'; its variants are: none"):
        read_variants(write_recipe(tmp_path), ["d"])


@pytest.mark.parametrize(
    ("variant", "told"),
    [
        ('name = "v"\ntrain = "last"', "variant v: the key train is unknown; did you mean 'trains'?"),
        ('name = "v"\neachtask = {}', "variant v: the key eachtask is unknown; did you mean 'each_task'?"),
        ('name = "v"\neach_task = {objectve = "kl"}', "objectve is unknown; did you mean 'objective'?"),
        ('name = "v"\neach_task = {objective = "mse"}', "The variant v: .*the objective mse takes tasks of the type"),
        ('name = "v"\neach_task = 3', "variant v: each_task is not a table"),
        ('name = "v"\ntrains = "adaptors"', "The variant v: .*trains is not valid: choose one of"),
        ('name = "v"\noptions = {layers = 1, width = 3}', "The variant v: .*adapters has no option 'width'"),
        ("seed = 3", "needs a name of letters, digits"),
        ('name = "../up"', "needs a name of letters, digits"),
        ('name = ".."', "needs a name of letters, digits"),
        ('name = "v"\n[[variants]]\nname = "v"', "two variants have the same name"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, variant, told):
    with pytest.raises(InputError, match=told):
        read_variants(with_variants(tmp_path, variant))


@pytest.mark.parametrize("given", ["3", "[]", "[1]", '{name = "v"}'])
def test_variants_that_are_no_tables(tmp_path, given):
    path = write_recipe(tmp_path)
    path.write_text(f"variants = {given}\n{path.read_text()}")
    with pytest.raises(InputError, match="needs a name of letters, digits"):
        read_variants(path)
