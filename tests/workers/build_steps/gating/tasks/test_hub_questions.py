"""Tasks of lm-eval whose questions are on a hub, in the step's own process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hub_server import HubServer
from tests.workers.build_steps.gated import Quantized
from tests.workers.build_steps.supervising import Supervisor, publish
from workers.build_steps.child import OutcomeKind, StepOutcome

pytestmark = [pytest.mark.engine, pytest.mark.long]
QUESTIONS = "datasets/baber/piqa"
TASKS = {"piqa": {"limit": 4, "max_loss": 1.0}}


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture
def place(supervisor: Supervisor, hub: HubServer, kv: Quantized, tmp_path: Path) -> Supervisor:
    supervisor.roots = (str(kv.original),)
    supervisor.options = {
        "hf_endpoint": hub.url,
        "allow_private_addresses": True,
        "cache_dir": str(tmp_path / "cache"),
    }
    return supervisor


def questions(verb: str = "open") -> dict[str, bytes]:
    rows = (
        {"goal": f"{verb} door {number}", "sol1": "turn it", "sol2": "eat it", "label": number % 2}
        for number in range(8)
    )
    content = "".join(json.dumps(each) + "\n" for each in rows).encode()
    return {"train.jsonl": content, "validation.jsonl": content}


def step(place: Supervisor, name: str, kv: Quantized, **more: Any) -> StepOutcome:
    inputs = {} if name == "fetch" else {"fetch": kv.fetch, "calibrate": kv.calibrate}
    job = place.job(name, kv.with_gate(tasks=TASKS), **(inputs | more.pop("inputs", {})))
    return place.run(place.command(name, job, **more))


def test_questions_are_read_by_the_fetch_and_asked_at_the_gate(
    place: Supervisor, hub: HubServer, kv: Quantized
) -> None:
    hub.add(QUESTIONS, questions())
    fetched = step(place, "fetch", kv)
    assert fetched.kind is OutcomeKind.FINISHED, (fetched, place.log.decode())
    folder = publish(place, "fetch")
    gated = step(place, "gate", kv, inputs={"fetch": folder})
    assert gated.kind is OutcomeKind.FINISHED, (gated, place.log.decode())
    assert gated.values is not None
    (task,) = gated.values["tasks"]
    assert (task["task"], task["metric"], task["questions"]) == ("piqa", "acc", 4)
    assert {each.unit for each in place.progress} >= {"samples", "answers"}
    hub.add(QUESTIONS, questions("close"))
    changed = step(place, "gate", kv, inputs={"fetch": folder})
    assert changed.failure is not None
    assert changed.failure.code == "EHC-CHANGED"


def test_gated_questions_take_the_token_of_the_config(
    place: Supervisor, hub: HubServer, kv: Quantized
) -> None:
    hub.add(QUESTIONS, questions(), gated=True, readers={"hf_good"})
    refused = step(place, "fetch", kv)
    assert refused.failure is not None
    assert refused.failure.code == "EHG-TASK-DATA"
    fetched = step(place, "fetch", kv, secrets={"hf_access_token": "hf_good"})
    assert fetched.kind is OutcomeKind.FINISHED, (fetched, place.log.decode())


def test_a_hub_without_the_questions_ends_the_fetch_with_the_name_of_the_task(
    place: Supervisor, kv: Quantized
) -> None:
    outcome = step(place, "fetch", kv)
    assert outcome.failure is not None
    assert outcome.failure.code == "EHG-TASK-DATA"
    assert "`piqa`" in outcome.failure.sentence
    assert "no others are asked in their place" in outcome.failure.sentence
