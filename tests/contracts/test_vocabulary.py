"""Whole labels of pages, and names in code, are the words of `contributing/vocabulary.md`."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PAGE = ROOT / "contributing" / "vocabulary.md"
_ROW = re.compile(r"^\| (?!Term|Say|Name|-)(.*) \|$", re.MULTILINE)
_LABELS_IN_HTML = frozenset(
    ("h1", "h2", "h3", "h4", "th", "dt", "label", "legend", "summary", "button", "a", "option")
)
_ATTRIBUTES = ("data-label", "aria-label", "title", "placeholder")
_KEYWORDS = ("label", "verb")


def _cells(column: int) -> Iterator[str]:
    for row in _ROW.findall(_PAGE.read_text()):
        cells = [each.strip() for each in row.split("|")]
        if len(cells) > column and cells[column]:
            yield from (each.strip(" `") for each in cells[column].split(";"))


NOT_LABELS = frozenset(each.casefold() for each in _cells(2))
NOT_IN_CODE = frozenset(_cells(3))
NOT_ALONE = frozenset(
    re.findall(r"`(\w+)`", re.search(r"none is only (.+)", _PAGE.read_text()).group(1))
)
_ALONE = re.compile(rf"\b_?(?:{'|'.join(sorted(NOT_ALONE))})\b\s*(?::?=|[:,)]|in\b)")


class _Labels(HTMLParser):
    """The text of each element that is a label, and of attributes that are."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []
        self.feed(re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "\n", template, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in _ATTRIBUTES and value]
        self._open = [tag] if tag in _LABELS_IN_HTML else self._open

    def handle_endtag(self, tag: str) -> None:
        if tag in _LABELS_IN_HTML:
            self._open = []

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found += [each.strip() for each in data.split("\n")]


def _of_code(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=name, value=ast.Constant(value=str(text))) if name in _KEYWORDS:
                yield text


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr
            case ast.arg():
                yield node.arg


def _python() -> Iterator[Path]:
    for folder in ("apps", "controlplane", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def _words(name: str) -> str:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).casefold()
    return f"_{snake.strip('_')}_"


def _forbidden(name: str) -> list[str]:
    return [each for each in NOT_IN_CODE if f"_{each}_" in _words(name)]


def _parsed_if_doubtful(text: str) -> ast.Module:
    """Return the module; an empty one where no forbidden name can stand in its text."""
    squeezed = text.casefold().replace("_", "")
    has_one = any(each.replace("_", "") in squeezed for each in NOT_IN_CODE)
    return ast.parse(text if has_one else "")


def test_the_page_is_read() -> None:
    assert {"everybody", "what really applies", "card"} <= NOT_LABELS
    assert {"insist", "own_code"} <= NOT_IN_CODE
    assert {"told", "found"} <= NOT_ALONE


@pytest.mark.parametrize(
    "template",
    ["<h2>Everybody</h2>", '<td data-label="Is">x</td>', "<th>{% if a %}May{% endif %}</th>"],
)
def test_a_label_of_ones_own_is_found(template: str) -> None:
    assert NOT_LABELS.intersection(each.casefold() for each in _Labels(template).found)


@pytest.mark.parametrize("template", ["<p>Everybody</p>", "<h2>Everybody reads</h2>", "<b>May</b>"])
def test_prose_is_left_alone(template: str) -> None:
    assert not NOT_LABELS.intersection(each.casefold() for each in _Labels(template).found)


def test_no_page_has_a_label_of_its_own() -> None:
    entries = [
        f"{path.relative_to(ROOT)}: {label}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for label in _Labels(path.read_text()).found
        if label.casefold() in NOT_LABELS
    ]
    assert entries == []


def test_no_form_or_fix_has_a_label_of_its_own() -> None:
    entries = [
        f"{path.relative_to(ROOT)}: {label}"
        for path in _python()
        if any(f"{keyword}=" in (text := path.read_text()) for keyword in _KEYWORDS)
        for label in _of_code(ast.parse(text))
        if label.casefold() in NOT_LABELS
    ]
    assert entries == []


def test_no_name_in_code_is_one_of_those_replaced() -> None:
    entries = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in _python()
        for name in {path.stem, *_names(_parsed_if_doubtful(path.read_text()))}
        if _forbidden(name)
    ]
    assert entries == []


def test_no_local_is_named_by_what_was_done_to_it_alone() -> None:
    entries = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in _python()
        if _ALONE.search(text := path.read_text())
        for name in _locals(ast.parse(text))
        if name.strip("_") in NOT_ALONE
    ]
    assert entries == []


def _locals(tree: ast.AST) -> Iterator[str]:
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                match node:
                    case ast.Name(ctx=ast.Store()):
                        yield node.id
                    case ast.arg():
                        yield node.arg


@pytest.mark.parametrize(
    "code", ["def a(told): ...", "def a():\n    found = 1", "a = lambda said: said"]
)
def test_such_a_local_is_found(code: str) -> None:
    assert _ALONE.search(code)
    assert NOT_ALONE.intersection(_locals(ast.parse(code)))
