"""`contributing/adding_a_quantization_type.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import copy_tree, not_as_listed

PAGE = "adding_a_quantization_type"
MOST_FILES = 4
NAME = "fp8_kv_mlp_only"
ROW = f"""            Precision(
                name="{NAME}",
                weights=FP8,
                kv_cache=FP8,
                mlp_only=True,
                smaller=("fp8_kv",),
                with_plain_kv="fp8_mlp_only",
            ),
"""
CONTRACTS = (
    "tests/contracts/test_quantization_types.py",
    "tests/domain/rules/test_rules_by_their_own_examples.py",
    "tests/domain/memory/test_gpu_plan.py",
    "tests/domain/config_reference",
)


def test_a_quantization_type_takes_the_files_of_its_page_and_is_planned(tmp_path: Path) -> None:
    copy = copy_tree(tmp_path)
    copy.put(
        "controlplane/domain/spec/choices.py",
        f'    FP8_KV_MLP_ONLY = "{NAME}"\n',
        after='    FP8_MLP_ONLY = "fp8_mlp_only"\n',
    )
    copy.put(
        "controlplane/domain/facts/quantization.py",
        ROW,
        before='            Precision(\n                name="fp4",\n',
    )
    copy.put(
        "docs/quantization.md",
        f"| `{NAME}` | feed-forward layers alone | E4M3 | those of both |\n",
        before="| `fp4` | NVFP4",
    )
    copy.put("CHANGELOG.md", "- A type for nobody.\n", after="### Builds\n\n")
    copy.manage("write_config_reference")
    assert not_as_listed(PAGE, copy.changed()) == []
    assert len(copy.changed()) <= MOST_FILES
    copy.test(*CONTRACTS)
