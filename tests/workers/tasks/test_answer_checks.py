"""Both deployments of a promotion are asked through a real gateway, whatever their engines do."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections, transaction
from pytest_django import Settings

from apps.accounts.models import ApiKey
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.environments.rolling.answers.leasing import ANSWER_CHECK
from apps.deployments.models import AnswerCheck, Deployment
from apps.fleet.services.enrollment import enrollment_token_create
from apps.leases.queue import work_send
from apps.leases.sweeping import leases_sweep
from controlplane import clock
from tests.factories import make_replica
from tests.factories_answers import make_answer_check
from tests.gates import Gates
from tests.processes import CeleryWorker
from tests.waiting import wait_for
from tests.workers.gateway.stage.engine import Call, Engine
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from workers.tasks import answer_checks

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


class Running(threading.Thread):
    """The task in a thread, as a worker has it."""

    def __init__(self, check: AnswerCheck) -> None:
        super().__init__(daemon=True)
        self._id = check.id
        self.start()

    def run(self) -> None:
        try:
            answer_checks.run(self._id)
        finally:
            connections.close_all()

    def wait(self) -> AnswerCheck:
        wait_for(lambda: not self.is_alive(), what="the task to end")
        return AnswerCheck.objects.get(id=self._id)


@pytest.fixture
def gateway(
    live_server: Any, broker: str, data_dir: Path, tmp_path: Path, settings: Settings
) -> Iterator[GatewayProcess]:
    settings.KEY_RING_FILE = tmp_path / "ring"
    started = GatewayProcess(
        live_server.url, tmp_path / "gateway-1", broker=broker, token=enrollment_token_create()
    )
    with closing(started):
        settings.GATEWAY_INTERNAL_URL = started.url
        yield started
        started.stop()


def said(call: Call, text: str) -> None:
    call.answer({"choices": [{"message": {"role": "assistant", "content": text}}]})


def asked(call: Call) -> str:
    return str(call.json()["messages"][0]["content"])


def another_check(first: AnswerCheck, *prompts: str) -> AnswerCheck:
    """Return a check of the same promotion."""
    return AnswerCheck.objects.create(
        environment=first.environment, candidate_id=first.candidate_id,
        current_id=first.current_id, settings=first.settings, prompts=list(prompts),
        asked_at=clock.now(),
    )  # fmt: skip


def serve(deployment_id: str, engine: Engine) -> None:
    make_replica(deployment=Deployment.objects.get(id=deployment_id), port=engine.port)


def test_both_are_asked_the_same_at_their_own_addresses_by_a_marked_key_that_ends(
    gateway: GatewayProcess,
) -> None:
    event = threading.Event()

    def candidate(call: Call) -> None:
        if asked(call) == "Fail":
            call.answer({"error": {"message": "Out of memory."}}, status=500)
        elif asked(call) == "Hang":
            event.set()
            call.wait_for_hang_up()
        else:
            said(call, f"Well, {asked(call)}.")

    def current(call: Call) -> None:
        said(call, "Well, Hi." if asked(call) == "Hi" else "No.")

    with closing(Engine(candidate)) as new, closing(Engine(current)) as old:
        check = make_answer_check(prompts=["Hi", "Who?"])
        serve(check.candidate_id, new)
        serve(check.current_id, old)
        with transaction.atomic():
            routes_version_bump()
        done = Running(check).wait()

        assert (done.state, done.outcome) == ("finished", "worse")
        assert done.sentence == (
            "1 of 2 answers are equal, and 100 % are to be. Different: prompt 2."
        )
        rows = done.pairs.order_by("number").values_list("number", "is_equal", "differs_at")
        assert list(rows) == [(1, True, None), (2, False, 0)]
        for engine in (new, old):
            bodies = [each.json() for each in engine.calls]
            assert [each["messages"][0]["content"] for each in bodies] == ["Hi", "Who?"]
            assert {(each["temperature"], each["seed"]) for each in bodies} == {(0, 0)}

        failed = Running(another_check(check, "Fail", "Hi")).wait()
        assert failed.outcome == "unanswered"
        assert failed.sentence == "Not answered: prompt 1 by the candidate (Out of memory)."

        running = Running(hanging := another_check(check, "Hang"))
        wait_for(event.is_set, what="the question")
        AnswerCheck.objects.filter(id=hanging.id).update(cancel_requested_at=clock.now())
        assert running.wait().state == "cancelled"

    keys = ApiKey.objects.filter(traffic_mark="answers")
    assert keys.count() == 3
    assert all(each.revoked_at for each in keys)
    assert {tuple(each.model_ids) for each in keys} == {(check.environment.model_id,)}


@pytest.mark.long
def test_a_killed_worker_is_replaced_and_what_was_answered_is_not_asked_again(
    gateway: GatewayProcess, live_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTROL_PLANE_URL", live_server.url)
    monkeypatch.setenv("GATEWAY_INTERNAL_URL", gateway.url)
    seen: list[str] = []

    def candidate(call: Call) -> None:
        seen.append(asked(call))
        if seen == ["Hi", "Hang"]:
            call.wait_for_hang_up()  # the first worker is killed, so the gateway leaves
        else:
            said(call, "Well.")

    def current(call: Call) -> None:
        said(call, "Well.")

    with closing(Engine(candidate)) as new, closing(Engine(current)) as old, Gates() as gates:
        check = make_answer_check(prompts=["Hi", "Hang", "Last"])
        serve(check.candidate_id, new)
        serve(check.current_id, old)
        with transaction.atomic():
            routes_version_bump()
            work_send(ANSWER_CHECK, check)
        with CeleryWorker("async", gates=gates) as first:
            wait_for(lambda: "Hang" in seen, what=lambda: f"the question: {first.log.read_text()}")
            first.kill()
        past = clock.now() - timedelta(minutes=1)
        AnswerCheck.objects.update(lease_expires_at=past, asked_at=past)
        leases_sweep(ANSWER_CHECK)
        with CeleryWorker("async", gates=gates) as second:
            wait_for(lambda: _is_finished(check), what=lambda: f"it: {second.log.read_text()}")

    check.refresh_from_db()
    assert (check.outcome, check.sentence) == ("passed", "3 of 3 answers are equal.")
    assert seen == ["Hi", "Hang", "Hang", "Last"]
    assert not ApiKey.objects.filter(revoked_at=None, traffic_mark="answers").exists()


def _is_finished(check: AnswerCheck) -> bool:
    return AnswerCheck.objects.filter(id=check.id, state="finished").exists()
