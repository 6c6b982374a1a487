"""Every quantization type is a row of one table, is built or withdrawn, and stands in documents."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.facts.quantization import (
    NO_QUANT,
    PRECISIONS,
    PROPOSED,
    TRIED,
    exported_number,
)
from controlplane.domain.spec.choices import QuantizationType
from workers.build_steps.quantization.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
BUILT = {kind for kind in QuantizationType if kind.precision.is_built}
READS_OTHER_NAMES = {
    "controlplane/domain/facts/quantization.py": "the table, and the words of engines' caches",
    "controlplane/domain/facts/existing_quantization.py": "the words of other tools' files",
    "controlplane/domain/facts/trtllm_formats.py": "the names of TensorRT-LLM's methods",
    "controlplane/domain/facts/vllm_quantization.py": "the names of vLLM's methods",
    "controlplane/domain/runtimes/vllm/precision.py": "the words of vLLM's flags",
}
_TAKES_APART = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "split"}


def test_the_table_knows_every_type() -> None:
    assert set(PRECISIONS) == set(QuantizationType)
    assert all(name == each.name for name, each in PRECISIONS.items())


def test_every_type_that_is_not_withdrawn_has_a_recipe() -> None:
    assert set(RECIPES) == BUILT
    for kind, recipe in RECIPES.items():
        assert recipe.weights, kind
        assert exported_number(recipe.number.modelopt_name) is kind.precision.weights, kind


def test_the_next_type_is_one_that_is_built_and_takes_less() -> None:
    for kind, precision in PRECISIONS.items():
        assert {*precision.smaller} <= BUILT
        assert all(_bytes(other) < _bytes(kind) for other in precision.smaller), kind


def test_the_type_beside_a_type_has_its_weights_or_older_ones() -> None:
    for kind in BUILT:
        precision = PRECISIONS[kind]
        plain, older = PRECISIONS[precision.with_plain_kv], PRECISIONS[precision.on_older_gpus]
        assert not plain.quantizes_kv_cache
        assert plain.weights is precision.weights or not precision.quantizes_kv_cache, kind
        is_older = older.minimum_capability < precision.minimum_capability
        assert is_older or not older.is_quantized, kind


def test_only_what_is_built_is_tried_and_proposed() -> None:
    assert set(PROPOSED) <= set(TRIED) <= {NO_QUANT, *BUILT}
    assert TRIED[0] == NO_QUANT


def test_every_type_that_is_built_has_a_row_in_the_documentation() -> None:
    page = (ROOT / "docs/quantization.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## Types")[2], re.MULTILINE)
    assert set(rows) >= BUILT


def test_what_a_type_costs_is_what_was_kept() -> None:
    (kept,) = (ROOT / "benchmarks/results").glob("gate_types-*.json")
    page = (ROOT / "docs/quantization.md").read_text()
    cells = dict(
        re.findall(r"^\| (FP8|FP4|INT4)\b.*? nats; 75 % \|.+\| (.+) \|$", page, re.MULTILINE)
    )
    content = json.loads(kept.read_text())
    kinds = {"FP8": "fp8", "FP4": "fp4", "INT4": "int4_awq"}
    assert cells == {name: _in_words(content.get(kind)) for name, kind in kinds.items()}


def _in_words(found: dict[str, Any] | None) -> str:
    if found is None:
        return "not measured"
    words = (
        f"{100 * found['perplexity_change']:+.1f} %; {found['logit_drift_nats']:.3f}; "
        f"{100 * found['same_choice']:.0f} %"
    )
    return words if found["state"] == "passed" else f"{words}: fails"


@pytest.mark.parametrize(
    "code",
    [
        'name.startswith("fp8")', 'kind.value.removesuffix("_kv")', '"_kv" in name',
        'name.startswith(("weights_", "smooth_"))', 'kind in ("fp4", "fp4_kv")',
        '{"fp8_kv": "fp8", "fp4_kv": "fp4"}',
    ],
)  # fmt: skip
def test_a_name_that_is_taken_apart_is_found(code: str) -> None:
    assert [*_taken_apart(ast.parse(code))]


@pytest.mark.parametrize("code", ['path.startswith("/v1")', '"weights" in names', 'kind == "fp8"'])
def test_other_words_are_left_alone(code: str) -> None:
    assert not [*_taken_apart(ast.parse(code))]


def test_nobody_but_the_table_reads_the_names_of_types_or_lists_them() -> None:
    by_path = {
        path: lines
        for file in _python()
        if (lines := [*_taken_apart(ast.parse(file.read_text()))])
        and (path := str(file.relative_to(ROOT))) not in READS_OTHER_NAMES
    }
    assert by_path == {}


def _taken_apart(tree: ast.AST) -> Iterator[str]:
    """Yield the code that asks for a part of a type's name, or writes several names down."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=[given, *_]):
                outcome = method in _TAKES_APART and any(map(_is_part, _texts(given)))
            case ast.Compare(left=ast.Constant(value=str(text)), ops=[ast.In() | ast.NotIn()]):
                outcome = _is_part(text) and not text.isalpha()
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                outcome = _names_among(items) > 1
            case ast.Dict(keys=keys):
                outcome = _names_among(keys) > 1
            case _:
                outcome = False
        if outcome:
            yield ast.unparse(node)


def _is_part(text: str) -> bool:
    return len(text) > 2 and any(text in kind for kind in QuantizationType)


def _texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def _names_among(nodes: list[ast.expr] | list[ast.expr | None]) -> int:
    values = (each.value for each in nodes if isinstance(each, ast.Constant))
    return sum(value in PRECISIONS for value in values if isinstance(value, str))


def _python() -> Iterator[Path]:
    for folder in ("apps", "controlplane", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def _bytes(kind: str) -> float:
    """Return what a model of a billion numbers in layers, two thirds feed-forward, would take."""
    precision = PRECISIONS[kind]
    attention = 2.0 if precision.mlp_only else precision.weight_bytes
    return precision.weight_bytes * 2 / 3 + attention / 3 + precision.kv_bytes / 10
