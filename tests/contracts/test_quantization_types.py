"""Every quantization type can be planned, is built or withdrawn, and stands in the documents."""

import re
from pathlib import Path

from controlplane.domain.facts.quantization import PRECISIONS
from controlplane.domain.memory.changes import LESS_PRECISION
from controlplane.domain.spec.choices import QuantizationType
from workers.build_steps.quantization.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[2]
BUILT = {kind for kind in QuantizationType if not kind.is_legacy and not kind.is_none}


def test_the_memory_plan_knows_every_type() -> None:
    assert set(PRECISIONS) == set(QuantizationType)


def test_every_type_that_is_not_withdrawn_has_a_recipe() -> None:
    assert set(RECIPES) == BUILT


def test_what_its_name_says_is_what_is_planned_and_made() -> None:
    for kind, recipe in RECIPES.items():
        planned = PRECISIONS[kind]
        assert recipe.kv_cache == kind.quantizes_kv_cache == (planned.kv_bytes == 1), kind
        assert recipe.mlp_only == planned.mlp_only, kind
        assert recipe.is_fp4 == kind.is_fp4 != kind.is_fp8, kind


def test_the_next_type_is_one_that_is_built_and_takes_less() -> None:
    for kind, others in LESS_PRECISION.items():
        assert {*others} <= BUILT
        assert all(_bytes(other) < _bytes(kind) for other in others), kind


def test_every_type_that_is_built_has_a_row_in_the_documentation() -> None:
    page = (ROOT / "docs/quantization.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## Types")[2], re.MULTILINE)
    assert set(rows) >= BUILT


def _bytes(kind: str) -> float:
    """Return what a model of a billion numbers in layers, two thirds feed-forward, would take."""
    precision = PRECISIONS[kind]
    attention = 2.0 if precision.mlp_only else precision.weight_bytes
    return precision.weight_bytes * 2 / 3 + attention / 3 + precision.kv_bytes / 10
