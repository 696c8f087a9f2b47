"""The settings for those who work on slinky agree with each other and with what is checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import mutations
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["test", "lint"])
def test_the_extras_for_development_are_groups_too(name: str) -> None:
    groups = SETTINGS["dependency-groups"]
    assert groups[name] == SETTINGS["project"]["optional-dependencies"][name]
    assert {"include-group": name} in groups["dev"]


def test_the_hooks_run_versions_that_the_lint_group_allows() -> None:
    """What passes a commit passes `.ci/run`, which takes the tools of the group."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    versions = dict(re.findall(r"repo: https://github\.com/\S+/(\S+)\n +rev: v(\S+)", hooks))
    repositories = {
        "ruff-pre-commit": "ruff",
        "mirrors-mypy": "mypy",
        "rumdl-pre-commit": "rumdl",
        "codespell": "codespell",
    }
    allowed = {r.name: r.specifier for r in map(Requirement, SETTINGS["dependency-groups"]["lint"])}
    for repository, tool in repositories.items():
        assert allowed[tool].contains(versions[repository]), f"{tool} {versions[repository]}"


def test_the_types_are_checked_alike_before_a_commit() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    found = re.search(r"id: mypy\n(?: .*\n)*? +additional_dependencies: \[(.*)\]", hooks)
    assert found is not None
    given = {Requirement(text) for text in found[1].split(", ")}
    groups = SETTINGS["dependency-groups"]
    assert given == {
        *map(Requirement, SETTINGS["project"]["dependencies"]),
        *(r for r in map(Requirement, groups["lint"]) if r.name.startswith("types-")),
    }


def test_the_workflow_runs_what_has_the_last_word() -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert re.findall(r"run: (.*)", workflow) == [".ci/run"]


def test_what_the_usual_tests_leave_out_runs_by_the_week() -> None:
    workflow = (ROOT / ".github" / "workflows" / "long.yml").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (usual,) = re.findall(r"^python3 .*?(-m pytest .*)$", readme, re.MULTILINE)
    assert workflow.count("schedule:") == 1
    assert usual.replace("pytest", "pytest --long") in workflow


def test_each_mutant_finds_its_place() -> None:
    """What is broken to test the tests stands in the code exactly once."""
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in {m.file for m in mutations.MUTANTS}}
    overtaken = [f"{m.file}: {m.name}" for m in mutations.MUTANTS if texts[m.file].count(m.old) != 1]

    assert not overtaken
