"""Values inside arguments that vLLM ends at."""

from typing import Any

import pytest

from controlplane.domain.runtimes.vllm.inner_values import odd_inside


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": 3, "cudagraph_mode": "full_and_piecewise", "custom_ops": ["none", "+a"]}, None),
        ({"mode": True, "cudagraph_mode": 1, "cudagraph_capture_sizes": [1, 2]}, None),
        ({"mode": 4}, "`4` is none"),
        ({"mode": "fast"}, "`fast` is none"),
        ({"cudagraph_mode": "PARTS"}, "`PIECEWISE`"),
        ({"cudagraph_capture_sizes": []}, "at least one"),
        ({"cudagraph_capture_sizes": [0]}, "at least one"),
        ({"custom_ops": ["rms_norm"]}, "`rms_norm` is none"),
        ({"custom_ops": ["all", "none"]}, "both `all` and `none`"),
        ({"custom_ops": ["+a", "-a"]}, "turns `a` on and off"),
        ("text", None),
    ],
)
def test_what_stands_inside_is_judged(given: Any, words: str | None) -> None:
    statement = odd_inside("compilation-config", given)
    assert statement is None if words is None else words in str(statement)


def test_sizes_by_themselves_are_judged_as_those_inside() -> None:
    assert odd_inside("cudagraph-capture-sizes", []) is not None
    assert odd_inside("cudagraph-capture-sizes", [1]) is None
    assert odd_inside("max-loras", []) is None
