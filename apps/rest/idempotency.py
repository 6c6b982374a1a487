"""A POST that is sent twice with one `Idempotency-Key` is carried out once."""

import json
from collections.abc import Sequence
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request
from rest_framework.response import Response

from apps.rest.callers import caller_of
from apps.rest.errors import Conflict, InvalidInput
from apps.rest.models import AnsweredRequest
from controlplane import clock

HEADER = "Idempotency-Key"
KEPT = timedelta(hours=24)
_GIVEN_UP = timedelta(minutes=10)
"""After that a request without an answer counts as lost with its process."""


class AnsweredBeforeError(Exception):
    """Ends a repeated request with the answer that the first one got."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


def claim(request: Request) -> AnsweredRequest | None:
    """Return the row of a request with a key, None for one without.

    Raises AnsweredBeforeError for a repetition, Conflict while the first is under way or where its
    answer cannot be given again, InvalidInput for a key that cannot be one.
    """
    key = request.headers.get(HEADER)
    if request.method != "POST" or key is None:
        return None
    _check(request, key)
    _prune()
    caller, digest = caller_of(request), _digest(request)
    try:
        with transaction.atomic():
            return AnsweredRequest.objects.create(caller=caller, key=key, request_hmac=digest)
    except IntegrityError:
        raise _repetition(caller, key, digest) from None


def settle(row: AnsweredRequest, response: Response, *, fresh_secrets: Sequence[str]) -> None:
    """Keep the answer of a success, unless it shows one of the secrets that the request made.

    After a refusal nothing was done and the key is free again.
    """
    if response.status_code >= 300:
        row.delete()
        return
    content: bytes = b"null" if response.data is None else response.rendered_content
    row.status = response.status_code
    row.is_shown_once = any(secret.encode() in content for secret in fresh_secrets)
    row.answer = None if row.is_shown_once else json.loads(content)
    row.save(update_fields=["status", "is_shown_once", "answer"])


def _repetition(caller: str, key: str, digest: str) -> Exception:
    first = AnsweredRequest.objects.filter(caller=caller, key=key).first()
    if first is None or first.status is None:
        return Conflict(
            f"A request with the {HEADER} `{key}` is being carried out.",
            code="request_under_way",
            hint="Send it again in a moment.",
        )
    if not constant_time_compare(first.request_hmac, digest):
        return Conflict(
            f"The {HEADER} `{key}` was used for another request.",
            code="idempotency_key_reused",
            hint="Make a new key for a new request.",
        )
    if first.is_shown_once:
        return Conflict(
            f"The request with the {HEADER} `{key}` was carried out, and its answer showed a "
            "secret that is shown only once.",
            code="shown_once",
            hint="If the first answer was lost, revoke what it made and make another.",
        )
    replay = Response(first.answer, status=first.status, headers={"Idempotent-Replayed": "true"})
    return AnsweredBeforeError(replay)


def _check(request: Request, key: str) -> None:
    if not 1 <= len(key) <= 255 or not key.isascii() or not key.isprintable():
        raise InvalidInput(f"The {HEADER} must have 1 to 255 printable ASCII characters.")
    if (request.content_type or "").startswith("multipart/"):
        raise InvalidInput(f"A form with a file takes no {HEADER}.", hint="Leave the header out.")


def _digest(request: Request) -> str:
    # Keyed, or the hash of a short secret could be guessed from a dump.
    sent = f"{request.get_full_path()}\n".encode() + request._request.body
    return salted_hmac("apps.rest.idempotency", sent, algorithm="sha256").hexdigest()


def _prune() -> None:
    now = clock.now()
    AnsweredRequest.objects.filter(started_at__lt=now - KEPT).delete()
    AnsweredRequest.objects.filter(status=None, started_at__lt=now - _GIVEN_UP).delete()
