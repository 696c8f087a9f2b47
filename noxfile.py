#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""The tasks of someone who works on slinky, each in an environment of its own: `nox`, or `nox -s tests`.

`nox -s ci` runs `.ci/run`, which has the last word; the other sessions are its parts, for use on the way.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "uv|virtualenv"

PROJECT = nox.project.load_toml("pyproject.toml")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, spelling and types."""
    session.install("-e", ".", *nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("rumdl", "check", ".")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests, in as many processes as there are cores. What stands behind `--` goes to pytest."""
    session.install("-e", ".", *nox.project.dependency_groups(PROJECT, "test"))
    session.run("pytest", *(session.posargs or ("-n", "auto", "--dist", "loadgroup")))


@nox.session(default=False)
def long(session: nox.Session) -> None:
    """The tests with all cases of sweeps, and many examples of properties. What stands behind `--` goes to pytest."""
    session.install("-e", ".", *nox.project.dependency_groups(PROJECT, "test"))
    session.run("pytest", "--long", *(session.posargs or ("-n", "auto", "--dist", "loadgroup")))


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Write docs/primitives.md and the stub of the primitives again, from their docstrings and signatures."""
    session.install("-e", ".")
    made = {"tools.reference": "docs/primitives.md", "tools.signatures": "slinky/sched/primitives/__init__.pyi"}
    for module, path in made.items():
        text = session.run("python", "-m", module, silent=True)
        Path(path).write_text(str(text), encoding="utf-8")


@nox.session(default=False)
def benchmarks(session: nox.Session) -> None:
    """The benchmarks beside NumPy, numba, Halide and others. What stands behind `--` goes to them."""
    session.install("-e", ".[bench]")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session(default=False, venv_backend="none")
def ci(session: nox.Session) -> None:
    """All that must hold before a change is taken."""
    session.run(".ci/run", external=True)


if __name__ == "__main__":
    nox.main()
