"""Recipes: what is read, and one plain sentence for every mistake."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from corpora.errors import InputError
from encoders.models.formats import Format
from tests.training.recipes import LABELS, read_recipe, task_files, write_recipe
from training.data.examples import Example, Unusable, read_examples, read_labels
from training.recipe import read_variants
from training.task import TrainingTask

RECIPE = {
    "options": {},
    "plain": (),
    "similarity": None,
    "guard": (),
    "sampler": "mixed-proportional",
    "batch_size": 16,
    "accumulation": 1,
    "epochs": 1,
    "steps": None,
    "layer_decay": 1,
    "schedule": "linear",
    "warmup": 0,
    "weight_decay": 0,
    "clip": 1,
    "max_tokens": 512,
    "dropout": 0.1,
    "precision": "fp32",
    "keep_states": None,
    "group_by_length": False,
    "chunk": None,
    "activation_checkpointing": False,
    "validate_every": 100,
    "keep": 1,
    "patience": 0,
    "seed": 42,
}
TASK = {
    "build": None,
    "validation": None,
    "query_format": None,
    "fields": ("title", "abstract"),
    "label": "label",
    "labels": None,
    "multi_label": False,
    "options": {},
    "weight": 1,
    "rate": 1,
    "limit": None,
    "keep_head": False,
}


def test_keys_that_are_not_named_have_their_defaults(tmp_path):
    (tmp_path / "t.jsonl").touch()
    task = '[[tasks]]\nname = "t"\ntype = "triplet"\ntrain = "t.jsonl"\nformat = "prx"\n'
    (tmp_path / "r.toml").write_text(f'base = "b"\ntrains = "all"\nlearning_rate = 1\n{task}')
    recipe = read_recipe(tmp_path / "r.toml")
    told = recipe.model_dump()
    (found,) = told.pop("tasks")
    assert told == RECIPE | {"base": "b", "trains": "all", "learning_rate": 1}
    named = {"name": "t", "type": "triplet", "train": tmp_path / "t.jsonl", "format": Format.PRX}
    assert found == TASK | named | {"objective": "triplet"}


@pytest.mark.parametrize(
    ("key", "least", "below"),
    [
        *((key, 1, 0) for key in ("batch_size", "accumulation", "epochs", "steps", "chunk", "validate_every", "keep")),
        *((key, 0, -1) for key in ("warmup", "weight_decay", "clip", "patience", "dropout")),
        *((key, 1, 1.5) for key in ("layer_decay",)),
        *((key, 0.1, 0) for key in ("learning_rate", "layer_decay")),
        *(("max_tokens", 8, 7), ("dropout", 0.99, 1)),
    ],
)
def test_numbers_have_their_limits(tmp_path, key, least, below):
    assert getattr(read_recipe(write_recipe(tmp_path, **{key: least})), key) == least
    with pytest.raises(InputError, match=rf"{key} is not valid"):
        read_recipe(write_recipe(tmp_path, **{key: below}))


@pytest.mark.parametrize(
    ("kind", "several", "objective"),
    [
        ("classification", False, "cross-entropy"),
        ("classification", True, "bce"),
        ("regression", False, "mse"),
        ("ranked", False, "kl"),
        ("vectors", False, "vectors"),
        ("triplet", False, "triplet"),
        ("ir", False, "triplet"),
    ],
)
def test_an_objective_for_each_type(tmp_path, kind, several, objective):
    given = {"name": "t", "type": kind, "train": tmp_path, "format": "prx", "multi_label": several}
    assert TrainingTask.model_validate(given).objective == objective
    assert TrainingTask.model_validate({**given, "weight": 0.1, "rate": 0.1, "limit": 1}).limit == 1
    for key in ("weight", "rate", "limit"):
        with pytest.raises(ValidationError):
            TrainingTask.model_validate({**given, key: 0})


def test_a_head_is_kept_only_where_there_is_one(tmp_path):
    path = changed(write_recipe(tmp_path, ("triplet",)), 'name = "triplet"', 'name = "triplet"\nkeep_head = true')
    with pytest.raises(InputError, match="the objective triplet has no head to keep; remove keep_head"):
        read_recipe(path)


def changed(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    return path


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("batch_size", "batchsize", "the key batchsize is unknown; did you mean 'batch_size'?"),
        (
            "multi_label = true",
            "multilabel = true",
            "the key tasks.0.multilabel is unknown; did you mean 'multi_label'?",
        ),
        ('"adapters"', '"adaptors"', "trains is not valid: choose one of all, last, adapters"),
        ('objective = "bce"', 'objective = "triplet"', "the objective triplet takes tasks of the type triplet or ir"),
        ('type = "classification"\n', "", "the key tasks.0.type is missing"),
        ("several.jsonl", "none.jsonl", "names .*none.jsonl as its train file, and there is no such file"),
        ('name = "bce"', 'name = "bce"\noptions = {margin = 2.0}', "the objective bce has no option 'margin'"),
        ("learning_rate = 0.01", "learning_rate = -1", "learning_rate is not valid"),
        ("learning_rate = 0.01", "learning_rate = ", "can't be read"),
        ('name = "cross-entropy"', 'name = "bce"', "two tasks have the name 'bce'"),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, before, after, told):
    path = write_recipe(tmp_path, ("bce", "cross-entropy"))
    with pytest.raises(InputError, match=told):
        read_recipe(changed(path, before, after))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 101])
def test_a_task_has_a_name_that_can_be_printed(tmp_path, name):
    path = changed(write_recipe(tmp_path, ("bce",)), 'name = "bce"', f"name = {json.dumps(name)}")
    with pytest.raises(InputError, match="give a task a name of up to 100 characters that can be printed"):
        read_recipe(path)


def test_an_unknown_option_of_what_is_trained(tmp_path):
    with pytest.raises(
        InputError, match="adapters has no option 'width'; its options are: layers, reduction, identity"
    ):
        read_recipe(write_recipe(tmp_path, options={"width": 3}))


def test_scirepevals_configuration_as_it_is(tmp_path):
    task_files(tmp_path)
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    files = {"train": "papers.jsonl", "dev": "papers.jsonl"}
    config = [
        {
            "name": "fos",
            "type": "classification",
            "multi_label": True,
            "data_files": {"train": "several.jsonl"},
            "labels": "labels.txt",
            "labels_field": "label",
            "ctrl_token": "[CLF]",
            "sample_size": {"train": 5, "dev": 2},
        },
        {
            "name": "search",
            "type": "ir",
            "data_files": {"train": "judged.jsonl"},
            "ctrl_token": {"query": "[QRY]", "candidates": "[PRX]"},
            "input_fields": ["title", "year"],
        },
        {"name": "years", "type": "regression", "data_files": files, "labels_field": "value", "ctrl_token": "[RGN]"},
        {
            "name": "mesh",
            "type": "classification",
            "contrastive": True,
            "data_files": files,
            "labels": "labels.txt",
            "labels_field": "label",
            "ctrl_token": "[CLF]",
        },
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(config))
    path = tmp_path / "recipe.toml"
    path.write_text('base = "b"\ntrains = "all"\nlearning_rate = 1e-4\nscirepeval = "tasks.json"\n')
    fos, search, years, mesh = read_recipe(path).tasks
    assert (fos.objective, fos.limit, fos.format) == ("bce", 5, Format.CLF)
    assert (search.objective, search.query_format, search.format) == ("triplet", Format.QRY, Format.PRX)
    assert search.fields == ("title", "year")
    assert (years.objective, years.validation) == ("mse", tmp_path / "papers.jsonl")
    assert mesh.objective == "supervised-contrastive"
    del config[0]["data_files"]
    (tmp_path / "tasks.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"The task fos .* names no data_files"):
        read_recipe(path)


def read(tmp_path, objective, records):
    path = write_recipe(tmp_path, (objective,))
    task = read_recipe(path).tasks[0]
    task.train.write_text(json.dumps(records))
    return list(read_examples(task, task.train, "[SEP]", read_labels(task)))


def test_judged_queries_become_triplets_as_in_scirepeval(tmp_path):
    """Positives are cycled and negatives taken from the end (allenai/scirepeval, IRDataset.preprocess)."""
    candidates = [{"title": f"p{i}", "score": 2} for i in range(2)] + [{"title": f"n{i}", "score": 0} for i in range(7)]
    found = read(tmp_path, "contrastive", [{"query": "what", "candidates": candidates}])
    wanted = [("p0", "n6"), ("p1", "n5"), ("p0", "n4"), ("p1", "n3"), ("p0", "n2")]
    assert found == [Example(("what", *pair)) for pair in wanted]


def test_texts_leave_empty_fields_out(tmp_path):
    record = {"title": "A", "abstract": "", "label": "x"}
    assert read(tmp_path, "cross-entropy", [record, record | {"abstract": "B", "label": "y"}]) == [
        Example(("A",), (0,)),
        Example(("A [SEP] B",), (1,)),
    ]


@pytest.mark.parametrize(
    ("objective", "record", "reason"),
    [
        ("cross-entropy", {"title": "A"}, "label holds 0 labels instead of one"),
        ("cross-entropy", {"title": "A", "label": ["x", "y"]}, "label holds 2 labels instead of one"),
        ("cross-entropy", {"title": " ", "label": "x"}, "a text is empty"),
        ("mse", {"title": "A", "value": "many"}, "value is 'many' and not a number"),
        ("mse", {"title": "A", "value": True}, "value is True and not a number"),
        ("triplet", {"query": {"title": "A"}, "pos": {"title": "B"}}, "a text is empty"),
        ("contrastive", {"query": "q", "candidates": [{"title": "A", "score": 1}]}, "one with a score of 0"),
        ("contrastive", {"query": "q", "candidates": {}}, "candidates is not a list of papers"),
        ("kl", {"query": "q", "candidates": [{"title": "A"}]}, "a candidate's score is None"),
        ("mse", 3, "isn't a JSON object"),
    ],
)
def test_records_that_give_no_example_are_told_with_the_reason(tmp_path, objective, record, reason):
    labelled = [{"title": "A", "label": "x"}, {"title": "A", "label": "y"}]
    *_, last = read(tmp_path, objective, [*(labelled if objective == "cross-entropy" else []), record])
    assert isinstance(last, Unusable)
    assert reason in last.reason


def test_a_label_that_the_file_of_labels_lacks(tmp_path):
    path = write_recipe(tmp_path, ("cross-entropy",))
    (tmp_path / "labels.txt").write_text("astronomy\nbiology\n")
    task = read_recipe(changed(path, 'name = "cross-entropy"', 'name = "cross-entropy"\nlabels = "labels.txt"')).tasks[
        0
    ]
    labels = read_labels(task)
    assert labels == ("astronomy", "biology")
    reasons = {one.reason for one in read_examples(task, task.train, "", labels) if isinstance(one, Unusable)}
    assert reasons == {"the label 'medicine' is none of the task's labels"}


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
def test_mistakes_in_variants_are_told_in_one_sentence(tmp_path, variant, told):
    with pytest.raises(InputError, match=told):
        read_variants(with_variants(tmp_path, variant))


@pytest.mark.parametrize("given", ["3", "[]", "[1]", '{name = "v"}'])
def test_variants_that_are_no_tables(tmp_path, given):
    path = write_recipe(tmp_path)
    path.write_text(f"variants = {given}\n{path.read_text()}")
    with pytest.raises(InputError, match="needs a name of letters, digits"):
        read_variants(path)
