"""How findings say numbers: `1 request`, and a count of requests never without their length."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.rules import ALL_RULES, Known, examine
from controlplane.domain.rules.examples import (
    BERT,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
    Example,
)  # fmt: skip
from tests.domain.cases import as_config_yaml, lines

pytestmark = pytest.mark.wide
_ONE_OF_SEVERAL = re.compile(
    r"(?<![\d.,:/-])1 ([a-zA-Z-]+ )?(requests|tokens|GPUs|ranks|replicas|adapters|samples|experts|"
    r"layers|stages|rows|arguments|heads|devices|hosts|texts|labels|names|bits|days|drafts|files|"
    r"modules|numbers|prompts|parts)\b"
)
_THAT_FIT = re.compile(r"(\d|one) requests? (of|fit|that fit|runs?)|full-length|of full length")
_MODELS = (SMOLLM2_135M, LLAMA_8B, LLAMA_70B, QWEN2_7B, BERT)


def _examples() -> Iterator[Example]:
    for rule in ALL_RULES:
        yield from (rule.bad, rule.good)
    yield Example(
        config={
            "trt_llm.build.lora_adapters": {"a": {"source": "LOCAL", "repo": "/a"}},
            "resources.accelerator": "L4", "trt_llm.build.max_batch_size": 1,
            "trt_llm.build.max_num_tokens": 65, "trt_llm.build.max_seq_len": 1,
            "trt_llm.build.num_builder_gpus": 1,
        },
        checkpoint=LLAMA_8B,
    )  # fmt: skip
    one = {"inference_stack": "v2", "runtime": {"patch_kwargs": {"stream_interval": 4}}}
    yield Example(config={"resources.accelerator": "H100", "trt_llm": {
        **one, "build": {"checkpoint_repository": {"source": "LOCAL", "repo": "/m"}}}})  # fmt: skip


def _said(known: Known, content: object) -> Iterator[str]:
    examination = examine(content, known)  # type: ignore[arg-type]
    for finding in examination.report.findings:
        yield f"{finding.code}: {finding.message}"
        if finding.fix:
            yield f"{finding.code}: {finding.fix.label}"
    yield from (f"{each.field}: {each.reason}" for each in examination.effective)
    yield from (f"{each.path}: {each.message}" for each in examination.errors)


@cache
def _of_every_case() -> frozenset[str]:
    return frozenset(_each_said())


def _each_said() -> Iterator[str]:
    for example in _examples():
        yield from _said(example.known, example.content)
    for case in lines("truss_configs.jsonl"):
        for model in _MODELS:
            yield from _said(_known(model), as_config_yaml(case["facts"]))


def _known(model: CheckpointFacts) -> Known:
    return Known(checkpoint=model, secret_names=frozenset(), devices=EVERY_KIND)


def test_one_thing_is_said_in_the_singular() -> None:
    assert (
        sorted({statement for statement in _of_every_case() if _ONE_OF_SEVERAL.search(statement)})
        == []
    )


def test_a_count_of_requests_that_fit_names_their_length() -> None:
    statement = {statement for statement in _of_every_case() if _THAT_FIT.search(statement)}
    assert statement
    assert sorted(each for each in statement if not re.search(r"[\d,]+ tokens", each)) == []
