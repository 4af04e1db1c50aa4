"""A contract for import-linter beside its own: `lint-imports` reads it from `pyproject.toml`."""

from graphlib import CycleError, TopologicalSorter

from importlinter import Contract, ContractCheck, output


class AcyclicModules(Contract):
    """No module imports itself, by whatever way round: not inside functions either, nor for type checks alone.

    Import-linter's own `acyclic_siblings` compares whole packages: it refuses two that use each other's modules, also
    where no module is in a circle.
    """

    def check(self, graph, verbose):
        imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
        try:
            TopologicalSorter(imports).prepare()
        except CycleError as error:
            return ContractCheck(kept=False, metadata={"circle": error.args[1][::-1]})
        return ContractCheck(kept=True)

    def render_broken_contract(self, check):
        output.print_error(f"These import each other in a circle: {' -> '.join(check.metadata['circle'])}")
