"""`contributing/adding_a_quantization_type.md`, followed in a copy of the tree."""

from pathlib import Path

from tests.contributing.throwaway import copy_tree, not_as_listed

PAGE = "adding_a_quantization_type"
NAME = "fp8_kv_mlp_only"
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
        f'            ("{NAME}", 1.0, True, 1, FP8_CAPABILITY),\n',
        after='            ("fp8_mlp_only", 1.0, True, 2, FP8_CAPABILITY),\n',
    )
    copy.put(
        "controlplane/domain/memory/changes.py",
        f'    "{NAME}": ("fp8_kv",),\n',
        before='    "fp8_mlp_only": ("fp8",),',
    )
    copy.put(
        "workers/build_steps/quantization/recipes.py",
        "        QuantizationType.FP8_KV_MLP_ONLY: Recipe(\n"
        '            weights="FP8_DEFAULT_CFG", mlp_only=True, kv_cache=True\n        ),\n',
        before="        QuantizationType.FP4: Recipe(",
    )
    copy.put(
        "tests/workers/build_steps/test_calibrate_families.py",
        f'    "{NAME}": Promise("FP8", attention=False, kv_cache=True),\n',
        after='    "fp8_mlp_only": Promise("FP8", attention=False),\n',
    )
    copy.put(
        "docs/quantization.md",
        f"| `{NAME}` | feed-forward layers alone | E4M3 | those of both |\n",
        before="| `fp4` | NVFP4",
    )
    copy.put("CHANGELOG.md", "- A type for nobody.\n", after="### Builds\n\n")
    copy.manage("write_config_reference")
    assert not_as_listed(PAGE, copy.changed()) == []
    copy.test(*CONTRACTS)
