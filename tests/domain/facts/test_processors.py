"""A processor's own words -> whether it multiplies bfloat16."""

import pytest

from controlplane.domain.facts.processors import multiplies_bfloat16


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu avx2 avx512f avx512_bf16 gfni", True),
        ("fpu amx_tile amx_bf16", True),
        ("fpu avx2 avx512f avx512_vnni", False),
        ("fpu avx512_bf16x", False),
    ],
)
def test_it_is_told_by_a_flag_of_its_own(flags: str, expected: bool) -> None:
    cpuinfo = f"processor\t: 0\nmodel name\t: avx512_bf16\nflags\t\t: {flags}\n"
    assert multiplies_bfloat16(cpuinfo) is expected


def test_a_processor_without_flags_has_none() -> None:
    assert not multiplies_bfloat16("processor\t: 0\nFeatures\t: fp asimd bf16\n")
