"""Where a draft fits, what a taken cell changes, and what may be planned without owning it."""

import pytest

from apps.configs.fit_matrix import cell_patch, matrix_of
from controlplane import clock
from controlplane.domain.memory import every_offer, fit
from controlplane.domain.rules import examples
from controlplane.domain.rules.context import Known, every_kind
from controlplane.domain.rules.examine import examine
from controlplane.domain.rules.examples import LLAMA_70B
from controlplane.domain.rules.rule import Severity
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import edit_yaml, parse_mapping, parse_text
from controlplane.domain.spec.patch import patched
from tests.apps.pages import signed_in
from tests.factories import Cast, make_cast, make_checkpoint_record, make_device, make_node
from tests.folded import folded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
GIB = 1024**3
TEXT = """\
model_name: large
resources:
  accelerator: H100:4 # what we rent
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {source: LOCAL, repo: /checkpoints/tiny}
    max_seq_len: 8192
    quantization_type: fp8
    tensor_parallel_count: 4
"""
SPEC = parse_text(TEXT).spec


def cast_with_facts() -> Cast:
    cast = make_cast()
    make_checkpoint_record(
        team=cast.team, state="ready", facts=LLAMA_70B.model_dump(mode="json"),
        fetched_at=clock.now(),
    )  # fmt: skip
    return cast


def test_every_kind_of_gpu_opens_where_none_is_owned() -> None:
    cast = cast_with_facts()
    lines = matrix_of(team=cast.team, spec=SPEC, might_get=True).lines
    held = {line.kind for line in lines if line.holds_it}
    assert {"H100", "H200", "B200", "L40S"} <= held
    assert not any(line.owned for line in lines)
    assert matrix_of(team=cast.team, spec=SPEC, might_get=False).lines == ()


def test_owned_devices_come_first_and_count_as_many_as_there_are() -> None:
    cast = cast_with_facts()
    node = make_node()
    for index in range(2):
        make_device(node=node, kind="H100", index=index, uuid=f"GPU-{index}", memory_bytes=80 * GIB)
    first = matrix_of(team=cast.team, spec=SPEC, might_get=True).lines[0]
    assert (first.kind, first.owned) == ("H100", True)
    assert {row.devices for cell in first.cells for row in cell.rows} <= {1, 2}


def test_a_cell_that_holds_nothing_says_why() -> None:
    cast = cast_with_facts()
    lines = matrix_of(team=cast.team, spec=SPEC, might_get=True).lines
    t4 = next(line for line in lines if line.kind == "T4")
    assert all(cell.reason for cell in t4.cells if not cell.rows)


def test_a_taken_cell_changes_only_what_it_says() -> None:
    client = signed_in(cast_with_facts().owner)
    posted = {
        "text": TEXT,
        "changed": "",
        "base": "0",
        "might_get": "on",
        "cell": "H200 fp8_kv 2 1",
    }
    page = client.post("/configs/new/check/", posted).content.decode()
    assert "accelerator: H200:2 # what we rent" in page
    assert "quantization_type: fp8_kv" in page
    assert "tensor_parallel_count: 2" in page
    assert "pipeline_parallel_count" not in page


@pytest.mark.parametrize("cell", ["", "H100", "NONE fp8 1 1", "H100 fp8 1 x", "H100 odd 1 1"])
def test_what_is_no_cell_changes_nothing(cell: str) -> None:
    assert cell_patch({}, cell) == {}


def test_a_cell_of_a_v2_config_divides_in_the_runtime() -> None:
    patch = cell_patch({"trt_llm": {"inference_stack": "v2"}}, "H100 no_quant 4 1")
    assert patch["trt_llm.runtime.tensor_parallel_size"] == 4
    assert edit_yaml("trt_llm:\n  inference_stack: v2\n", patch)


def test_the_part_waits_for_the_checkpoint_and_for_a_text_that_parses() -> None:
    client = signed_in(make_cast().owner)
    for text, words in ((TEXT, "not read yet"), ("trt_llm: [", "has to be mended")):
        page = client.post("/configs/new/fit/", {"text": text, "might_get": "on"}).content.decode()
        assert words in page


def test_only_the_build_is_off_for_a_device_one_might_get() -> None:
    client = signed_in(cast_with_facts().owner)
    posted = {"text": TEXT, "changed": "", "base": "0"}
    planned = folded(
        client.post("/configs/new/check/", posted | {"might_get": "on"}).content.decode()
    )
    assert "EH102" not in planned
    assert "no host here has 4 × H100" in planned
    assert "manage.py enrollment_token" in planned
    assert '<option value="B200">' in planned
    owned = folded(client.post("/configs/new/check/", posted).content.decode())
    assert "EH102" in owned
    assert '<option value="B200">' not in owned
    assert "H100 (not here)" in owned


@pytest.mark.parametrize("runtime", ["vllm", "trtllm"])
@pytest.mark.parametrize("name", ["LLAMA_8B", "LLAMA_70B", "QWEN2_7B"])
def test_no_cell_offers_what_a_check_then_blocks(name: str, runtime: str) -> None:
    checkpoint = getattr(examples, name)
    text = f"enginehouse: {{runtime: {runtime}}}\n{TEXT}"
    data, spec = parse_text(text).data, parse_text(text).spec
    assert spec is not None
    known = Known(
        checkpoint=checkpoint, secret_names=frozenset(), runtimes=frozenset({runtime}),
        devices=every_kind(cpu_memory_bytes=GIB),
    )  # fmt: skip
    rows = fit(checkpoint, every_offer(), spec=spec, runtime=RUNTIMES[runtime].memory)
    assert len({row.offer.kind for row in rows}) > 8
    blocked = {}
    for row in rows:
        ranks = f"{row.tensor_parallel} {row.pipeline_parallel}"
        cell = f"{row.offer.kind} {row.quantization_type} {ranks}"
        report = examine(parse_mapping(patched(data, cell_patch(data, cell))), known).report
        errors = [each.code for each in report.findings if each.severity is Severity.ERROR]
        if errors:
            blocked[cell] = errors
    assert blocked == {}
