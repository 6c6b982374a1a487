"""Where a draft fits, what a taken cell changes, and what may be planned without owning it."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest

from apps.configs.fit_cells import cell_name, cell_patch
from apps.configs.fit_choices import Choice, Prices
from apps.configs.fit_matrix import KindLine, matrix_of
from apps.fleet.services.prices import price_set
from controlplane import clock
from controlplane.domain.facts import checkpoints
from controlplane.domain.facts.architectures import Role
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.existing_quantization import ExistingQuantization
from controlplane.domain.facts.gpus import GPUS
from controlplane.domain.memory import every_offer, fit
from controlplane.domain.rules import examples
from controlplane.domain.rules.choice_errors import choice_errors
from controlplane.domain.rules.context import Known, every_kind
from controlplane.domain.rules.examine import examine
from controlplane.domain.rules.examples import LLAMA_70B
from controlplane.domain.rules.rule import Severity
from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.serving_memory import memory_by_choice
from controlplane.domain.spec import Spec, parse_mapping, parse_text
from controlplane.domain.spec.edit import edit_yaml
from controlplane.domain.spec.patch import patched
from tests.apps.pages import signed_in
from tests.domain.cases import as_config_yaml
from tests.domain.rules.test_public_configs import SHAPES, WITH_SHAPES
from tests.factories import Cast, make_cast, make_checkpoint_record, make_device, make_node
from tests.folded import folded
from tests.in_turn import each_in_turn

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker"), pytest.mark.wide]
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
PARSED = parse_text(TEXT)


def cast_with_facts() -> Cast:
    cast = make_cast()
    make_checkpoint_record(
        team=cast.team, state="ready", facts=LLAMA_70B.model_dump(mode="json"),
        fetched_at=clock.now(),
    )  # fmt: skip
    return cast


def test_every_kind_of_gpu_opens_where_none_is_owned() -> None:
    cast = cast_with_facts()
    lines = matrix_of(team=cast.team, parsed=PARSED, might_get=True).lines
    kinds = {line.kind for line in lines if line.holds_it}
    assert {"H100", "H200", "B200", "L40S"} <= kinds
    assert not any(line.owned for line in lines)
    assert matrix_of(team=cast.team, parsed=PARSED, might_get=False).lines == ()


def test_owned_devices_count_as_many_as_there_are_and_can_be_looked_at_alone() -> None:
    cast = cast_with_facts()
    node = make_node(runtimes=["vllm"])
    for index in range(2):
        make_device(node=node, kind="H100", index=index, uuid=f"GPU-{index}", memory_bytes=80 * GIB)
    matrix = matrix_of(team=cast.team, parsed=PARSED, might_get=True)
    h100 = line_of("H100", matrix.lines)
    assert h100.owned
    assert {choice.row.devices for choice in h100.choices} == {1, 2}
    assert matrix.owns_some
    posted = {"text": TEXT, "might_get": "on", "only_owned": "on"}
    page = folded(signed_in(cast.owner).post("/configs/new/fit/", posted).content.decode())
    assert re.search(r'id="only-owned"[^>]* checked', page)
    assert page.count('class=" owned"') == 1


def test_a_cell_that_holds_nothing_says_why() -> None:
    cast = cast_with_facts()
    lines = matrix_of(team=cast.team, parsed=PARSED, might_get=True).lines
    t4 = next(line for line in lines if line.kind == "T4")
    assert all(cell.reason for cell in t4.cells if not cell.choices)


def test_a_cell_says_how_many_requests_how_fast_and_what_a_million_tokens_cost() -> None:
    cast = cast_with_facts()
    matrix = matrix_of(team=cast.team, parsed=PARSED, might_get=True)
    h100 = line_of("H100", matrix.lines)
    present = [choice for choice in h100.choices if choice.is_present]
    assert [choice.name for choice in present] == ["H100 fp8 4 1"]
    row = present[0].row
    assert row.plan is not None
    assert row.plan.speed is not None
    assert present[0].requests == f"{row.plan.full_length_requests} requests"
    assert re.fullmatch(r"[\d\u202f]+\u2013[\d\u202f]+ tokens/s", present[0].speed)
    assert present[0].price == f"${row.usd_per_million_tokens:.2f}"
    assert [cell.precision for cell in h100.cells if cell.is_present] == ["fp8"]
    assert matrix.sequence_tokens == 8192


def test_kinds_stand_by_the_cost_of_a_token_at_the_prices_that_an_admin_set() -> None:
    cast = cast_with_facts()
    listed = matrix_of(team=cast.team, parsed=PARSED, might_get=True)
    ranks = [line.rank for line in listed.lines if line.holds_it]
    assert ranks == sorted(ranks)
    for kind, price in (("B200", "0.5"), ("H100", "90")):
        price_set(kind=kind, per_hour=Decimal(price), user=None)
    priced = matrix_of(team=cast.team, parsed=PARSED, might_get=True)
    assert [line.kind for line in priced.lines][:2] == ["B200", "H100"]
    assert line_of("L40S", priced.lines).choices[0].price == ""
    assert not line_of("B200", priced.lines).choices[0].price.startswith("$")


def line_of(kind: str, lines: Sequence[KindLine]) -> KindLine:
    return next(line for line in lines if line.kind == kind)


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
    assert "pipeline_parallel_count:" not in page


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


EMBEDDER_8B = examples.facts(
    architectures=["Qwen3Model"], model_type="qwen3", hidden_size=4096, num_hidden_layers=36,
    num_attention_heads=32, num_key_value_heads=8, head_dim=128, intermediate_size=12_288,
    vocab_size=151_665, max_position_embeddings=40_960, tie_word_embeddings=False,
    chat_template=None,
)  # fmt: skip
GEMMA = examples.facts(
    architectures=["Gemma3ForCausalLM"], model_type="gemma3_text", hidden_size=2560,
    num_hidden_layers=34, num_attention_heads=8, num_key_value_heads=4, head_dim=256,
    intermediate_size=10_240, vocab_size=262_208, max_position_embeddings=131_072,
)  # fmt: skip
FP8 = examples.LLAMA_8B.model_copy(
    update={"existing_quantization": ExistingQuantization(method="modelopt", algorithm="FP8")}
)
FP8_OF_OTHERS = examples.LLAMA_8B.model_copy(
    update={"existing_quantization": ExistingQuantization(method="fp8", algorithm="FP8")}
)
IN_BLOCKS = examples.facts(
    architectures=["Qwen3MoeForCausalLM"], model_type="qwen3_moe", hidden_size=4096,
    num_hidden_layers=94, num_attention_heads=64, num_key_value_heads=4, head_dim=128,
    num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536, intermediate_size=12_288,
    vocab_size=151_936, max_position_embeddings=40_960, tie_word_embeddings=False,
    quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
)  # fmt: skip
MODELS = {
    "8B": examples.LLAMA_8B, "70B": examples.LLAMA_70B, "Qwen2": examples.QWEN2_7B,
    "Gemma": GEMMA, "FP8": FP8, "FP8 of others": FP8_OF_OTHERS,
}  # fmt: skip
EMBEDDERS = {"8B embedder": EMBEDDER_8B, "BERT": examples.BERT}


def drafted(checkpoint: CheckpointFacts, runtime: str) -> tuple[Mapping[str, Any], Spec]:
    """Return a draft for the model, its runtime named or left open."""
    kind = "encoder" if checkpoint.role is not Role.CAUSAL else "decoder"
    base = "encoder_bert" if checkpoint.model_type == "bert" else kind
    length = f"    {'max_seq_len' if base == 'decoder' else 'max_num_tokens'}: 8192\n"
    text = (
        f"enginehouse: {{runtime: {runtime}}}\ntrt_llm:\n  build:\n    base_model: {base}\n"
        f"{length}    checkpoint_repository: {{source: LOCAL, repo: /checkpoints/tiny}}\n"
    )
    parsed = parse_text(text)
    assert parsed.spec is not None
    return parsed.data, parsed.spec


def blocked_cells(
    checkpoint: CheckpointFacts, runtime: str, ran: frozenset[tuple[str, str]] = frozenset()
) -> tuple[set[str], dict[str, list[str]]]:
    """Return the kinds that the matrix offers, and what the checks say against its cells."""
    data, spec = drafted(checkpoint, runtime)
    started = frozenset(RUNTIMES)
    known = Known(
        checkpoint=checkpoint, secret_names=frozenset(), runtimes=started, versions=ran,
        devices=every_kind(cpu_memory_bytes=GIB),
    )  # fmt: skip
    memory = memory_by_choice(spec, checkpoint, started=lambda _: started, ran=lambda _: ran)
    offers = [offer for offer in every_offer() if offer.kind in GPUS]
    rows = fit(checkpoint, offers, spec=spec, runtime=memory)
    blocked = {}
    for row in rows:
        ranks = f"{row.tensor_parallel} {row.pipeline_parallel}"
        cell = f"{row.offer.kind} {row.quantization_type} {ranks}"
        report = examine(parse_mapping(patched(data, cell_patch(data, cell))), known).report
        errors = [each.code for each in report.findings if each.severity is Severity.ERROR]
        if errors:
            blocked[cell] = errors
    return {row.offer.kind for row in rows}, blocked


@pytest.mark.parametrize(("name", "runtime"), each_in_turn(MODELS, ("vllm", "trtllm", "auto")))
def test_no_cell_offers_what_a_check_then_blocks(name: str, runtime: str) -> None:
    kinds, blocked = blocked_cells(MODELS[name], runtime)
    assert {"H100", "H200", "B200", "L40S"} <= kinds
    assert blocked == {}


def test_no_cell_divides_blocks_of_scales() -> None:
    kinds, blocked = blocked_cells(IN_BLOCKS, "vllm")
    assert {"H100", "H200", "B200"} <= kinds
    assert blocked == {}


@pytest.mark.parametrize("runtime", ["vllm", "native", "auto"])
@pytest.mark.parametrize("name", EMBEDDERS)
def test_no_cell_offers_an_embedder_what_a_check_then_blocks(name: str, runtime: str) -> None:
    kinds, blocked = blocked_cells(EMBEDDERS[name], runtime)
    assert {"H100", "H200", "B200", "L40S"} <= kinds
    assert blocked == {}


@pytest.mark.parametrize("runtime", ["vllm", "native", "auto"])
@pytest.mark.parametrize("tokens", [8192, 16_384])
def test_what_the_matrix_does_not_hold_the_checks_do_not_pass_in_silence(
    runtime: str, tokens: int
) -> None:
    data, spec = drafted(EMBEDDER_8B, runtime)
    data = patched(data, {"trt_llm.build.max_num_tokens": tokens})
    spec = parse_mapping(data).spec
    assert spec is not None
    known = Known(
        checkpoint=EMBEDDER_8B, secret_names=frozenset(), runtimes=frozenset(RUNTIMES),
        devices=every_kind(cpu_memory_bytes=GIB),
    )  # fmt: skip
    memory = memory_by_choice(spec, EMBEDDER_8B, started=lambda _: frozenset(RUNTIMES))
    for offer in (offer for offer in every_offer() if offer.kind in GPUS):
        rows = fit(EMBEDDER_8B, [offer], spec=spec, runtime=memory)
        taken = patched(data, cell_patch(data, f"{offer.kind} no_quant 1 1"))
        findings = examine(parse_mapping(taken), known).report.findings
        codes = {each.code for each in findings if each.severity is Severity.ERROR}
        codes |= {each.code for each in findings if each.code == "EH512"}
        holds = any(row.quantization_type == "no_quant" for row in rows)
        assert holds == (not codes), (offer.kind, codes)


PUBLIC = [case for case in WITH_SHAPES if case["truss_0_18_36"] == "valid"][::4]


@pytest.mark.parametrize("case", PUBLIC, ids=lambda case: case["id"])
def test_no_cell_offers_a_public_config_what_a_check_then_blocks(case: dict[str, Any]) -> None:
    data = as_config_yaml(case["facts"])
    facts = checkpoints.read(SHAPES[case["facts"]["model_repo"]], has_chat_template=True)
    known = Known(
        checkpoint=facts, secret_names=frozenset(data["secrets"]),
        devices=every_kind(cpu_memory_bytes=0),
    )  # fmt: skip
    spec = parse_mapping(data).spec
    assert spec is not None
    offers = [offer for offer in every_offer() if offer.kind in ("H100", "L40S")]
    rows = fit(facts, offers, spec=spec, runtime=memory_by_choice(spec, facts))
    patches = [cell_patch(data, cell_name(row)) for row in rows]
    outcome = choice_errors(data, patches, lambda _: known)
    offered = [patch for patch, errors in zip(patches, outcome, strict=True) if not errors]
    before = errors_of(data, known)
    assert offered
    assert all(errors_of(patched(data, patch), known) <= before for patch in offered)


def test_stages_beside_drafts_are_refused_by_the_checks_and_so_by_the_matrix() -> None:
    drafts = {"speculative_decoding_mode": "LOOKAHEAD_DECODING", "lookahead_windows_size": 3,
              "lookahead_ngram_size": 8, "lookahead_verification_set_size": 3}  # fmt: skip
    data, _ = drafted(examples.LLAMA_8B, "vllm")
    data = patched(data, {"trt_llm.build.speculator": drafts})
    known = Known(checkpoint=examples.LLAMA_8B, secret_names=frozenset(),
                  devices=every_kind(cpu_memory_bytes=GIB))  # fmt: skip
    cells = ("L40S no_quant 4 1", "L40S no_quant 4 2")
    errors = choice_errors(data, [cell_patch(data, each) for each in cells], lambda _: known)
    assert [set(each) for each in errors] == [set(), {"EH310"}]


def errors_of(data: Mapping[str, Any], known: Known) -> set[str]:
    findings = examine(parse_mapping(data), known).report.findings
    return {each.code for each in findings if each.severity is Severity.ERROR}


def test_an_encoder_has_texts_a_second_and_no_requests() -> None:
    _, spec = drafted(examples.BERT, "auto")
    h100 = [each for each in every_offer() if each.kind == "H100"]
    row = fit(examples.BERT, h100, spec=spec, runtime=memory_by_choice(spec, examples.BERT))[0]
    choice = Choice(row=row, cost=Prices().per_million(row), unit="$", is_present=False)
    assert choice.requests == ""
    assert choice.speed.endswith(" texts/s")
    assert choice.price.startswith("$")
    assert row.to_json()["tokens_per_second"] is None


def test_an_a100_is_offered_fp8_where_its_hosts_run_a_version_that_expands_it() -> None:
    older = {"no_quant", "fp4", "fp4_mlp_only", "int4_awq"}
    newer = older | {"fp8"}
    for version, types in (("0.25.1", older), ("0.33.0", newer)):
        ran = frozenset({("vllm", version)})
        _, spec = drafted(examples.LLAMA_8B, "vllm")
        memory = memory_by_choice(spec, examples.LLAMA_8B, ran=lambda _, ran=ran: ran)
        a100 = [each for each in every_offer() if each.kind == "A100"]
        rows = fit(examples.LLAMA_8B, a100, spec=spec, runtime=memory)
        assert {row.quantization_type for row in rows} == types
        assert blocked_cells(examples.LLAMA_8B, "vllm", ran)[1] == {}
