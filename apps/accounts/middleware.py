"""Lets what a request changes be known as that request's."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from apps.accounts.audit.recording import Origin, acting

Handler = Callable[[HttpRequest], Any]


@sync_and_async_middleware
def AuditMiddleware(get_response: Handler) -> Handler:
    if iscoroutinefunction(get_response):

        async def answer_later(request: HttpRequest) -> HttpResponseBase:
            with acting(Origin(request=request)):
                later: HttpResponseBase = await get_response(request)
                return later

        return answer_later

    def answer(request: HttpRequest) -> HttpResponseBase:
        with acting(Origin(request=request)):
            now: HttpResponseBase = get_response(request)
            return now

    return answer
