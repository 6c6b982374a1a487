"""Answer checks as rows."""

from typing import Any

from apps.deployments.models import AnswerCheck
from controlplane import clock
from tests.factories import make_deployment, make_environment


def make_answer_check(*, prompts: Any = ("Hi",), **settings: Any) -> AnswerCheck:
    """A check that a worker may begin, of a promotion under way."""
    current = make_deployment()
    candidate = make_deployment(model=current.model)
    place = make_environment(model=current.model, current=current, candidate=candidate)
    check = AnswerCheck.objects.create(
        environment=place,
        candidate_id=candidate.id,
        current_id=current.id,
        settings={"min_equal_percent": 100, **settings},
        prompts=list(prompts),
        asked_at=clock.now(),
    )
    place.promotion = {"status": "RELEASING", "answers": {"check_id": check.id}}
    place.save()
    return check
