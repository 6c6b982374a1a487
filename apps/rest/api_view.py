"""What every call under /v1 keeps to: limits, one answer per idempotency key, ETags."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.rest.entity_tags import held, require_unchanged, tag_answer
from apps.rest.fresh_secrets import fresh_secrets
from apps.rest.idempotency import AnsweredBeforeError, claim, settle
from apps.rest.models import AnsweredRequest
from apps.rest.rate_limits import Allowance, CallerThrottle


class ApiView(APIView):
    """A view whose callers are counted, may repeat a POST safely and may guard a change."""

    throttle_classes = (CallerThrottle,)
    allowance: Allowance | None = None
    """What the throttle says that the caller has left; None where nothing limits it."""

    _claimed: AnsweredRequest | None = None
    _fresh_secrets: Sequence[str] = ()

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        if_match = request.headers.get("If-Match")
        with held(request.method, request.path, if_match), fresh_secrets() as self._fresh_secrets:
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if str(request.method) in self.allowed_methods:
            require_unchanged(request, self._reader())
            self._claimed = claim(request)

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        limit = settings.API_REQUESTS_PER_MINUTE
        raise Throttled(wait=wait, detail=f"More than {limit} requests in a minute.")

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, AnsweredBeforeError):
            return exc.response
        return super().handle_exception(exc)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        for name, value in (self.allowance.headers() if self.allowance else {}).items():
            answer[name] = value
        if isinstance(answer, Response):
            if self._claimed is not None:
                settle(self._claimed, answer, fresh_secrets=self._fresh_secrets)
            tag_answer(request, answer)
        return answer

    def _reader(self) -> Callable[[], Any] | None:
        """Return what reads the thing of this path as it is now; None where it cannot be read."""
        get = getattr(self, "get", None)
        if get is None or "get" not in self.http_method_names:
            return None
        return lambda: get(self.request, **self.kwargs).data
