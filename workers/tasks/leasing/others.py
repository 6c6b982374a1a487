"""Whether a database that does not answer here answers others: the control plane is asked."""

from http import HTTPStatus

from django.conf import settings

from workers.bounded_http import Limits, NoAnswer, ask

_LIMITS = Limits(seconds=2.0, most_bytes=64 * 1024)


def database_answers_others() -> bool:
    """Return whether the control plane says that its database answers; no word is no yes."""
    try:
        answer = ask("GET", f"{settings.CONTROL_PLANE_URL}/readyz", limits=_LIMITS)
    except NoAnswer:
        return False
    return answer.status == HTTPStatus.OK
