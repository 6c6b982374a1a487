"""What `contributing/adding_a_quantization_type.md` says of a type, and of a number, for nobody."""

from tests.contributing.throwaway import Change, Copy

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
NUMBER = """MXFP8 = Number(
    label="MXFP8",
    bytes=1.03,
    minimum_capability=FP4_CAPABILITY,
    modelopt_name="MXFP8",
    modelopt_config="MXFP8_DEFAULT_CFG",
    is_computed_here=False,
)
"""
IN_THE_NUMBER = """            Precision(name="mxfp8", weights=MXFP8, on_older_gpus="fp8"),
"""
HONEST = '''"""Weights in a number that no engine was seen to read are not passed over."""

from controlplane.domain.facts.quantization import MXFP8, exported_number
from controlplane.domain.runtimes.requested_features import untested_features
from controlplane.domain.spec import parse_text

CONFIG = """
model_name: x
resources: {accelerator: B200}
enginehouse: {runtime: vllm}
trt_llm:
  build:
    base_model: decoder
    quantization_type: mxfp8
    checkpoint_repository: {source: HF, repo: a/b}
"""


def test_it_is_told_as_untested() -> None:
    spec = parse_text(CONFIG).spec
    assert spec is not None
    assert "MXFP8 weights" in untested_features(spec)
    assert exported_number("MXFP8") is MXFP8
'''
CONTRACTS = (
    "tests/contracts/test_quantization_types.py",
    "tests/domain/rules/test_rules_by_their_own_examples.py",
    "tests/domain/memory/test_gpu_plan.py",
    "tests/domain/config_reference",
)


def _follow_for_a_type(copy: Copy) -> None:
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


def _follow_for_a_number(copy: Copy) -> None:
    table = "controlplane/domain/facts/quantization.py"
    copy.put("controlplane/domain/spec/choices.py", '    MXFP8 = "mxfp8"\n',
             after='    FP4_MLP_ONLY = "fp4_mlp_only"\n')  # fmt: skip
    copy.put(table, NUMBER, before="INT8 = Number(")
    copy.put(table, IN_THE_NUMBER, before='            Precision(name="weights_int8",')
    copy.put("docs/quantization.md", "| `mxfp8` | MXFP8, blocks of 32 | 16-bit | its own |\n",
             before="| `fp4` | NVFP4")  # fmt: skip
    copy.put("CHANGELOG.md", "- A number for nobody.\n", after="### Builds\n\n")


CHANGES = (
    Change(
        page="adding_a_quantization_type",
        of="a quantization type",
        follow=_follow_for_a_type,
        commands=("write_config_reference",),
        tests=CONTRACTS,
        most_files=4,
    ),
    Change(
        page="adding_a_quantization_type",
        of="a number",
        follow=_follow_for_a_number,
        commands=("write_config_reference",),
        test_of_its_own=("tests/domain/test_throwaway.py", HONEST),
        tests=CONTRACTS,
    ),
)
