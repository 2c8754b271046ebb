"""The package itself: its stubs say what the extension has, and everything public is described."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gqaverify
from gqaverify import _core

PACKAGE = Path(gqaverify.__file__).parent


def stub():
    return ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8"))


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_names_what_the_extension_has():
    named = {
        node.target.id if isinstance(node, ast.AnnAssign) else node.name
        for node in stub().body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AnnAssign))}
    assert public(vars(_core)) == named


def test_the_stub_has_the_parameters_of_the_extension():
    functions = [node for node in stub().body if isinstance(node, ast.FunctionDef)]
    assert len(functions) >= 4
    for node in functions:
        # pybind11 writes the signature into the first line of the docstring.
        line = getattr(_core, node.name).__doc__.splitlines()[0]
        found = re.findall(r"(\w+): ", line.partition(") ->")[0])
        assert found == [argument.arg for argument in node.args.args], line


def test_the_stub_has_the_methods_of_the_case():
    (case,) = [node for node in stub().body if isinstance(node, ast.ClassDef)]
    assert public(vars(_core.Case)) == {method.name for method in case.body}


def test_types_are_announced():
    assert (PACKAGE / "py.typed").exists()


def test_everything_public_is_exported_and_described():
    for name in gqaverify.__all__:
        thing = getattr(gqaverify, name)
        if name == "__version__":
            continue
        assert inspect.getdoc(thing), name
        assert thing.__module__.startswith("gqaverify"), name
    for name in ("audit", "reference", "identify"):
        assert "[B, Hq, T, d" in inspect.getdoc(getattr(gqaverify, name)), name
    assert gqaverify.__version__ == _core.version


def test_the_version_that_pip_sees_is_that_of_the_library():
    tomllib = pytest.importorskip("tomllib")
    project = Path(__file__).resolve().parents[2]
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    version = settings["tool"]["scikit-build"]["metadata"]["version"]
    text = (project / version["input"]).read_text(encoding="utf-8")
    # As scikit-build-core searches: the first match.
    assert re.search(version["regex"], text, re.MULTILINE)["value"] == _core.version


def test_mypy_agrees_with_the_package_and_its_stub():
    pytest.importorskip("mypy")
    flags = ["--strict", "--no-error-summary", "--enable-incomplete-feature=Unpack"]
    flags.append(f"--cache-dir={os.devnull}")
    words = [sys.executable, "-m", "mypy", *flags, str(PACKAGE)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
