"""Text that is not YAML or JSON is explained in our words, at the slip, with what to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.spec import parse_text
from controlplane.domain.spec.errors import Problem

_LIMITS = "trt_llm:\n  build:\n    max_seq_len: 3\n"


@pytest.mark.parametrize(
    ("text", "place", "words", "hint"),
    [
        ("resources:\n\taccelerator: H100\n", (2, 1), "tab", "spaces"),
        ("trt_llm:\n  build: {}\n\truntime: {}\n", (3, 1), "tab", "spaces"),
        ("trt_llm\n  build: {}\n", (1, 1), "`trt_llm` has no colon", "`trt_llm:`"),
        (_LIMITS + "foo\n", (4, 1), "`foo` has no colon", "`foo:`"),
        ("a:\n  b 3\n  c: 4\n", (2, 3), "`b 3` has no colon", "`b: 3`"),
        ("a:\n  b:3\n  c: 4\n", (2, 3), "no space after its colon", "`b: 3`"),
        ("model_name: Llama: best\n", (1, 18), "colon and a space", "`'Llama: best'`"),
        ("model_name: a\n  description: b\n", (2, 3), "has the value `a`", "column of"),
        ('model_name: "Llama\ntrt_llm: {}\n', (1, 13), "not closed on its line", "Close it"),
        ('model_name: "Llama\ndescription: "x"\n', (1, 13), "not closed on its line", "Close it"),
        ("a: 'x\n---\nb: 1\n", (1, 4), "not closed on its line", "Close it"),
        ("model_name: 'it's\n", (1, 16), "`s` stands after it", '`"it\'s"`'),
        ('model_name: "Llama" 3\n', (1, 19), "`3` stands after it", "`'\"Llama\" 3'`"),
        ("secrets: {a: b\ntrt_llm: {}\n", (1, 10), "`{` that opens here", "`}`"),
        ("requirements: [a,\n  b\nsecrets: {}\n", (1, 15), "`[` that opens here", "`]`"),
        ("a: {a: 1 b: 2}\n", (1, 11), "comma is missing", "Put `,`"),
        (_LIMITS + "   max_batch_size: 3\n", (4, 4), "indented by 3", "4 to stand beside"),
        (" a: b\nc: d\n", (2, 1), "indented less than the first", "same column"),
        ("secrets:\n  - a\n  b: c\n", (3, 3), "among the items of a list", "`- `"),
        ("secrets:\n  a: b\n  - c\n", (3, 3), "among the keys of a mapping", "key of its own"),
        ("requirements: - a\n", (1, 15), "line of its key", "next line"),
        ("model_name: @x\n", (1, 13), "cannot begin with `@`", "`'@x'`"),
        ("model_name: *x* # c\n", (1, 13), "`*", "quotes"),
        ("model_name: `x`\n", (1, 13), "a backtick", "quotes"),
        ('model_name: "C:\\dir"\n', (1, 16), "`\\d` is no escape", "single quotes"),
        ("model_name: |x\n  a\n", (1, 13), "After `|` the line must end", "next lines"),
        ("%FOO\nmodel_name: a\n", (1, 1), "cannot begin with `%`", "Remove"),
        ("model_name: ]\n", (1, 13), "`]` stands where a value should", "Remove"),
        ("a: b\nx: \x07bell\n", (2, 4), "U+0007", "Remove"),
        ("a: b\n<<<<<<< HEAD\nc: d\n", (2, 1), "mark that a merge left", "Keep one"),
        ("```yaml\na: b\n```\n", (1, 1), "fence of Markdown", "Remove"),
        ("model_name: {{ name }}\n", (1, 14), "plain text", "template"),
        ("trt_llm:\n\u00a0\u00a0build: {}\n", (2, 1), "U+00A0", "plain spaces"),
        ("a: !foo b\n", (1, 4), "`!foo`", "quotes"),
        ("a:\n  <<: 3\n", (2, 3), "`<<` must name a mapping", None),
        ("a: b\n---\nc: d\n", (2, 1), "more than one document", "Keep one"),
        ('{"a": 1\n "b": 2}', (2, 2), "comma or a closing bracket", "Put `,`"),
        ('{"a": 1,\n "b": ]}', (2, 7), "A value is missing", "double quotes"),
        ('{"a": 1', (1, 8), "before its brackets are closed", "`}`"),
        ('{"a": 1} b', (1, 10), "after the end", "Remove"),
        ("- a\n", (1, 3), "not a mapping", "`trt_llm:`"),
        ("", (1, 1), "empty", "`trt_llm:`"),
    ],
)  # fmt: skip
def test_a_slip_is_told_where_it_is_with_what_to_do(
    text: str, place: tuple[int, int], words: str, hint: str | None
) -> None:
    error = parse_text(text).errors[0]
    assert error.problem is Problem.UNREADABLE
    assert (error.line, error.column) == place
    assert words in error.message
    assert hint is None or hint in (error.hint or "")


def test_several_slips_and_the_wrong_settings_between_them_come_together() -> None:
    errors = parse_text(
        "model_name: Llama: best\n"
        "resources:\n"
        "\taccelerator: H1000\n"
        "trt_llm:\n"
        "  build:\n"
        "    checkpoint_repository: {source: HF, repo: 'a/b\n"
        "    max_batch_size:8\n"
        "    quantization_type: fp9\n"
    ).errors
    assert [(error.line, error.code) for error in errors] == [
        (1, "EH001"), (3, "EH001"), (6, "EH001"), (7, "EH001"),
        (3, "EH005"), (8, "EH005"),
    ]  # fmt: skip


def test_a_text_that_cannot_be_read_offers_no_fix_for_it_cannot_be_edited() -> None:
    errors = parse_text("model_name: Llama: best\ntrt_llm: {buidl: {}}\n").errors
    assert [error.code for error in errors] == ["EH001", "EH002"]
    assert all(error.patch is None for error in errors)


def test_what_a_slip_may_have_hidden_is_not_called_missing() -> None:
    assert [error.code for error in parse_text("trt_llm\n  build: {}\n").errors] == ["EH001"]


def test_a_slip_names_the_language_as_its_source_and_a_bound_names_us() -> None:
    sources = {
        text: parse_text(text).errors[0].source.document
        for text in ("a: 'b", '{"a": ', "a: !!binary b", "", "foo: 1\ntrt_llm: {build: {}}")
    }
    assert list(sources.values()) == [
        "yaml.org/spec/1.1", "RFC 8259", "Enginehouse 0.1", "Enginehouse 0.1",
        "truss 0.18.36, truss/base",
    ]  # fmt: skip


@given(st.text(alphabet="ab:-'\"[]{}#\t\n |>*&!%@`\\,?\x07\u00a0\u2028", max_size=40))
def test_every_text_is_read_or_explained_at_a_place(text: str) -> None:
    result = parse_text(text)
    assert result.spec is not None or result.errors
    for error in result.errors:
        assert error.line is not None
        assert error.column is not None
        assert 1 <= error.line <= text.count("\n") + text.count("\u2028") + 2
