"""The answer guard of a roll: no traffic moves before both were asked, and the answers compared."""

from collections.abc import Mapping
from typing import Any

from apps.deployments.environments.rolling.answers.leasing import ANSWER_CHECK
from apps.deployments.environments.rolling.history import event_add
from apps.deployments.models import AnswerCheck, Environment
from apps.leases.queue import work_send
from controlplane import clock
from controlplane.domain.counted import counted
from controlplane.domain.lifecycle import ANSWER_CHECK_TERMINAL, AnswerCheckState
from controlplane.domain.rolling.answer_comparison import Outcome
from controlplane.domain.rolling.roll import Direction, Pause, Roll, paused, returning
from controlplane.domain.rolling.slo_guard import GuardAction


def answers_begun(environment: Environment, guard: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a promotion that begins keeps of its answer guard; nothing without one."""
    if guard is None:
        return {}
    if environment.current_id is None:
        _tell(environment, "Its answers are compared with none: it is the first deployment here.")
        return {}
    check = AnswerCheck.objects.create(
        environment=environment,
        candidate_id=environment.candidate_id or "",
        current_id=environment.current_id,
        settings={name: value for name, value in guard.items() if name != "prompts"},
        prompts=guard["prompts"],
    )
    return {"answers": {"check_id": check.id}}


def answers_guarded(environment: Environment, roll: Roll, *, is_ready: bool) -> tuple[Roll, str]:
    """Return the roll, paused or on its way back where answers say so, and what it waits for.

    `is_ready` tells whether the candidate can be asked.
    """
    answers = (environment.promotion or {}).get("answers")
    begins = roll.paused is None and roll.direction is Direction.UP and not roll.percent
    if answers is None or answers.get("is_decided") or not begins:
        return roll, ""
    check = AnswerCheck.objects.defer("prompts").get(id=answers["check_id"])
    if check.state in ANSWER_CHECK_TERMINAL:
        return _decided(environment, roll, check), ""
    if is_ready and check.asked_at is None:
        _send(check)
    return roll, _awaited(check)


def _send(check: AnswerCheck) -> None:
    check.asked_at = clock.now()
    check.save(update_fields=["asked_at"])
    work_send(ANSWER_CHECK, check)


def _awaited(check: AnswerCheck) -> str:
    answered = counted(check.pairs.count(), "prompt")
    if check.state == AnswerCheckState.QUEUED:
        return "Before any traffic moves both deployments are asked: no worker has begun yet."
    return f"Before any traffic moves both deployments are asked: {answered} answered so far."


def _decided(environment: Environment, roll: Roll, check: AnswerCheck) -> Roll:
    """Return the roll as the answers have it; what stays unknown is for a person to judge."""
    answers = {"check_id": check.id, "is_decided": True}
    environment.promotion = {**(environment.promotion or {}), "answers": answers}
    environment.save(update_fields=["promotion"])
    sentence = check.sentence or "Not answered: the check was called off."
    _tell(environment, sentence)
    if check.outcome == Outcome.PASSED:
        return roll
    is_worse = check.outcome == Outcome.WORSE
    if is_worse and check.settings.get("action") == GuardAction.CANCEL:
        return returning(roll, sentence)
    return paused(roll, Pause.GUARD, sentence)


def _tell(environment: Environment, sentence: str) -> None:
    event_add(environment, code="answers", sentence=sentence, percents=(0, 0))
