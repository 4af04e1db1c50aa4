from itertools import pairwise

import pytest

pytestmark = [pytest.mark.lint, pytest.mark.dev]


def graph_of(*imports):
    import grimp

    graph = grimp.ImportGraph()
    for line in imports:
        importer, imported = line.split(" -> ")
        graph.add_import(importer=importer, imported=imported)
    return graph


@pytest.mark.parametrize(
    ("imports", "circle"),
    [
        (["a -> b", "b -> c", "a -> c"], None),
        (["a.x -> b.x", "b.y -> a.y"], None),
        (["a -> b", "b -> c", "c -> b"], {"b", "c"}),
        (["a -> b", "b -> c", "c -> a", "d -> a"], {"a", "b", "c"}),
    ],
)
def test_circles_of_modules_are_refused(imports, circle, capsys):
    from tests.contracts import AcyclicModules

    contract = AcyclicModules("circles", {}, {})
    check = contract.check(graph_of(*imports), verbose=False)
    assert check.kept == (circle is None)
    if circle:
        told = check.metadata["circle"]
        assert set(told) == circle
        assert all(f"{one} -> {other}" in imports for one, other in pairwise(told))
        contract.render_broken_contract(check)
        assert told[0] in capsys.readouterr().out
