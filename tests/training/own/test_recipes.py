import pytest

from encoders.models.formats import Format
from encoders.registry import find_model
from tests.tiny import make_model
from training.own.papers import PAPERS, TEST, FieldPapers
from training.own.recipes import RECIPE, field_recipe, queries_recipe
from training.recipe import read_variants


def read(folder, text):
    for name in (PAPERS, TEST, "train.jsonl", "validation.jsonl"):
        (folder / name).touch()
    (folder / RECIPE).write_text(text)
    return read_variants(folder / RECIPE)[""]


@pytest.mark.parametrize(
    ("task", "task_format", "builder", "options"),
    [
        ("label", Format.CLF, "labels", {"field": "label", "fewest": 10}),
        ("labels", Format.CLF, "labels", {"field": "label", "fewest": 10}),
        ("number", Format.RGN, "numbers", {"field": "label", "scale": "standard"}),
    ],
)
def test_the_recipe_of_a_field(tmp_path, task, task_format, builder, options):
    base = find_model(str(make_model(tmp_path / "tiny", layers=3)))
    papers = FieldPapers("venue", task, task_format, 10_000, 2_000, 0)
    recipe = read(tmp_path, field_recipe("own", papers, base, limit=700, steps=105))
    (one,) = recipe.tasks
    assert (one.name, one.format, one.multi_label, one.limit) == ("venue", task_format, task == "labels", 700)
    assert (one.build.builder, one.build.options) == (builder, options)
    assert one.build.validation == pytest.approx(0.05)
    assert one.build.papers == (tmp_path / PAPERS,)
    assert recipe.guard == (tmp_path / TEST,)
    assert recipe.plain == (Format.PRX, Format.QRY)
    assert recipe.options == {"layers": 2, "reduction": 2, "identity": 1}
    assert (recipe.steps, recipe.validate_every, recipe.patience, recipe.max_tokens) == (105, 10, 3, 128)
    assert recipe.keep_states == tmp_path / "states"


def test_a_small_network_is_adapted_whole_and_few_papers_give_a_share(tmp_path):
    base = find_model(str(make_model(tmp_path / "tiny", layers=1)))
    papers = FieldPapers("venue", "label", Format.CLF, 100, 20, 0)
    recipe = read(tmp_path, field_recipe("own", papers, base))
    assert recipe.options["layers"] == 1
    assert recipe.keep_states is None
    assert (recipe.steps, recipe.tasks[0].limit, recipe.tasks[0].build.validation) == (None, None, 0.15)


def test_the_recipe_of_queries(tmp_path):
    base = find_model(str(make_model(tmp_path / "tiny", layers=3)))
    recipe = read(tmp_path, queries_recipe("own", base, steps=50))
    (one,) = recipe.tasks
    assert (one.type, one.format, one.objective) == ("vectors", Format.QRY, "vectors")
    assert recipe.plain == (Format.PRX,)
    assert (recipe.steps, recipe.validate_every, recipe.max_tokens) == (50, 5, 64)
    longest = read(tmp_path, queries_recipe("own", base))
    assert (longest.steps, longest.epochs, longest.patience) == (None, 100, 0)
