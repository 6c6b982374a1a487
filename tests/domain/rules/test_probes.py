"""Thirteen evaluation probes that a rival's checks pass over: every verdict is right here.

Source: 13 probes of GPUStack 2.3.0 on two GPUs of 24 GB with an 8B shape, 2026-11-27, of which it
gets 4 or 5 right. Its GPUs were RTX 4090; L4 has the same memory and is a kind of `config.yaml`.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.gpus import GIB
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.rules import DeviceOffer, Examination, Known, Severity, examine
from controlplane.domain.rules.examples import LLAMA_8B, Example, facts

HOST = (DeviceOffer(kind="L4", count=2, memory_bytes=24 * GIB),)
EIGHT_H100 = (DeviceOffer(kind="H100", count=8, memory_bytes=80 * GIB),)
MISSING = Failure(
    code="EHL-MISSING", blame=Blame.CHECKPOINT, sentence="`/models/x` does not exist."
)
_V2 = {"trt_llm.inference_stack": "v2", "trt_llm.build.max_seq_len": None}


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One row: what is asked, and the code that must refuse it; None where it must pass."""

    name: str
    refused_by: str | None
    config: dict[str, Any] = field(default_factory=dict)
    checkpoint: CheckpointFacts | None = LLAMA_8B
    failure: Failure | None = None
    devices: tuple[DeviceOffer, ...] = HOST
    replicas: int | None = None


PROBES = (
    Probe(name="short context fits", refused_by=None),
    Probe(
        name="131072 tokens do not fit beside the weights", refused_by="EH502",
        config={"trt_llm.build.max_seq_len": 131_072},
    ),
    Probe(
        name="nor with one rank written out", refused_by="EH502",
        config={"trt_llm.build.max_seq_len": 131_072, "trt_llm.build.tensor_parallel_count": 1},
    ),
    Probe(
        name="fp8 halves the weights", refused_by=None,
        config={"trt_llm.build.quantization_type": "fp8"},
    ),
    Probe(
        name="a KV cache of nonsense", refused_by="EH624",
        config={**_V2, "trt_llm.runtime": {
            "max_seq_len": 4096, "patch_kwargs": {"kv_cache_config": {"dtype": "nonsense"}}
        }},
    ),
    Probe(
        name="a slip in a name", refused_by="EH002", config={"trt_llm.build.max_sqe_len": 131_072}
    ),
    Probe(name="a negative length", refused_by="EH005", config={"trt_llm.build.max_seq_len": -5}),
    Probe(
        name="a folder without weights", refused_by="EH807",
        checkpoint=LLAMA_8B.model_copy(update={"files": ("config.json",), "has_weights": False}),
    ),
    Probe(name="123 replicas on two GPUs", refused_by="EH115", replicas=123),
    Probe(
        name="three ranks for 32 heads", refused_by="EH304",
        config={"resources.accelerator": "L4:3", "trt_llm.build.tensor_parallel_count": 3},
    ),
    Probe(
        name="an invented class", refused_by="EH616",
        checkpoint=facts(architectures=["FooBarForCausalLM"]),
    ),
    Probe(name="a missing path", refused_by="EH801", checkpoint=None, failure=MISSING),
    Probe(
        name="eight large GPUs", refused_by=None, devices=EIGHT_H100,
        config={"resources.accelerator": "H100"},
    ),
)  # fmt: skip


def _examine(probe: Probe) -> Examination:
    example = Example(config={"resources.accelerator": "L4", **probe.config})
    known = Known(
        checkpoint=probe.checkpoint, checkpoint_failure=probe.failure, secret_names=frozenset(),
        devices=probe.devices, replicas=probe.replicas,
    )  # fmt: skip
    return examine(example.content, known)


def test_there_are_thirteen() -> None:
    assert len(PROBES) == 13


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_a_probe_gets_the_right_verdict(probe: Probe) -> None:
    examination = _examine(probe)
    errors = {
        finding.code
        for finding in examination.report.findings
        if finding.severity is Severity.ERROR
    }
    if probe.refused_by is None:
        assert errors == set()
    else:
        assert probe.refused_by in errors
    assert examination.report.waiting == ()


def test_a_slip_is_told_what_was_meant() -> None:
    slip = next(probe for probe in PROBES if probe.refused_by == "EH002")
    assert any("`max_seq_len`" in (error.hint or "") for error in _examine(slip).errors)


def test_a_context_that_does_not_fit_names_the_longest_that_does() -> None:
    long = next(probe for probe in PROBES if probe.refused_by == "EH502")
    finding = next(f for f in _examine(long).report.findings if f.code == "EH502")
    assert finding.fix is not None
    assert 4096 < finding.fix.patch["trt_llm.build.max_seq_len"] < 131_072


def test_a_precision_changes_the_number_and_a_large_device_does_not() -> None:
    def plan_of(name: str) -> Any:
        plan = _examine(next(probe for probe in PROBES if probe.name == name)).plan
        assert plan is not None
        return plan

    whole, halved = plan_of("short context fits"), plan_of("fp8 halves the weights")
    assert halved.weights_bytes < 0.6 * whole.weights_bytes
    # The need on an 80 GB GPU is weights, one request and overhead: not 0.9 of the GPU.
    large = plan_of("eight large GPUs")
    need = large.fixed_bytes + large.sequence_tokens * large.kv_bytes_per_token
    assert need < 24 * GIB
