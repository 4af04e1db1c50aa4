"""The examples in the docstrings of evaluation run as written."""

import doctest
from importlib import import_module

import pytest

MODULES = {"ses.evaluation.measuring": ["experiment", "measure"], "ses.evaluation.result": ["Evaluation"]}
"""What has an example, by module."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, capsys):
    module = import_module(name)
    examples = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert [test.name.removeprefix(f"{name}.") for test in examples] == MODULES[name]
    runner = doctest.DocTestRunner()
    assert [runner.run(test).failed for test in examples] == [0] * len(examples), capsys.readouterr().out
