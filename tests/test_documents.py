"""What the documents say is true: their Python runs, and their links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)


def python_blocks(document: Path) -> list[tuple[int, str]]:
    """The Python of a document, with the line that each block starts at."""
    text = document.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(1)), found[1])
        for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_python_of_a_document_runs(document: Path) -> None:
    """Blocks run one after the other in one namespace; those with prompts must print what the document shows."""
    namespace: dict[str, object] = {"__name__": "document"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    problems: list[str] = []
    for line, block in python_blocks(document):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, document.name, str(document), line)
            runner.run(test, out=problems.append, clear_globs=False)
            namespace.update(test.globs)
        else:
            exec(compile("\n" * line + block, str(document), "exec"), namespace)
    assert not problems, "".join(problems)


def test_the_documents_that_show_python_are_found() -> None:
    with_python = {document.name for document in DOCUMENTS if python_blocks(document)}
    assert {"README.md", "index.md", "cursors.md"} <= with_python


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(document: Path) -> None:
    code = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
    text = code.sub("code", document.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#]+)\)", text)
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert not missing


def test_the_figure_of_the_readme_is_that_of_its_picture() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| .*(?:: time|beyond input and output) \| (.*) \|$", readme, re.MULTILINE)
    picture = (ROOT / "docs" / "readme.svg").read_text(encoding="utf-8")
    drawn = re.findall(r"<text [^>]*>(\d[^ <]* (?:s|ms|µs|ns|MB|KB)\b[^<]*)</text>", picture)
    assert len(table) == 4
    times, sizes = (" | ".join(table[start::2]).split(" | ") for start in (0, 1))
    assert len(times) == len(sizes) == 10
    assert drawn == times + sizes


def test_the_readme_opens_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^```sh\n(.*?)\n```$", readme, re.MULTILINE)
    assert commands[:2] == [
        "python3 -m venv .venv && .venv/bin/pip install -e '.[examples]' && .venv/bin/python examples/unsharp.py",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest -n auto"
        " --dist loadgroup",
    ]
