"""The shortest honest views that read and write what ours do, for ours to be compared with."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.utils.decorators import decorator_from_middleware

from apps.accounts.models import Team
from apps.accounts.selectors import api_key_by_text
from apps.builds.models import Build
from apps.builds.selectors import build_list, build_rows
from apps.configs.models import Config
from apps.configs.selectors import config_list
from apps.rest.paging import Page, page_of
from apps.rest.rate_limits import CallerThrottle
from apps.secrets.models import Secret
from apps.secrets.selectors import secret_list
from apps.secrets.services.redaction import unreadable_secrets
from apps.secrets.usage import uses_of

List = Callable[[Team, dict[str, Any]], dict[str, Any]]
_ROW_BYTES = 250
"""About what the template makes of a row."""


@decorator_from_middleware(SessionMiddleware)
@decorator_from_middleware(AuthenticationMiddleware)
def page(request: HttpRequest) -> HttpResponse:
    """Return a form of as many bytes as asked for, to somebody who is signed in."""
    if not request.user.is_authenticated:
        return HttpResponse(status=403)
    fields = [
        {"name": f"field_{number}", "label": f"Field {number}", "value": number}
        for number in range(int(request.GET["bytes"]) // _ROW_BYTES)
    ]
    return render(request, "form.html", {"user": request.user, "fields": fields})


def listed(rows: List) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view of a list: the key looked up, its request counted, the page queried."""

    def view(request: HttpRequest) -> HttpResponse:
        key = api_key_by_text(request.headers["Authorization"].removeprefix("Bearer "))
        if key is None:
            return HttpResponse(status=401)
        allowance = CallerThrottle().spend(f"apikey:{key.pk}")
        if allowance is not None and allowance.is_spent:
            return HttpResponse(status=429)
        target = {"limit": int(request.GET.get("limit", 1000)), "cursor": request.GET.get("cursor")}
        return JsonResponse(rows(key.team, target))

    return view


def configs(team: Team, wanted: dict[str, Any]) -> dict[str, Any]:
    page = page_of(config_list(team=team), **wanted)
    return _told("items", page, map(_config, page.rows))


def builds(team: Team, wanted: dict[str, Any]) -> dict[str, Any]:
    page = page_of(build_rows(build_list(team=team)), **wanted)
    return _told("items", page, map(_build, page.rows))


def secrets(team: Team, wanted: dict[str, Any]) -> dict[str, Any]:
    page = page_of(secret_list(team=team), by="name", **wanted)
    uses = uses_of(team, [secret.name for secret in page.rows])
    unreadable = unreadable_secrets(page.rows)
    rows = (
        _secret(row, uses.get(row.name, ())) | {"is_readable": row.id not in unreadable}
        for row in page.rows
    )
    return _told("secrets", page, rows)


def _told(under: str, page: Page[Any], rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {
        under: list(rows),
        "pagination": {"has_more": page.cursor is not None, "cursor": page.cursor},
    }


def _config(row: Config) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "created_at": _moment(row.created_at),
        "updated_at": _moment(row.updated_at),
        "revision": row.last_number,  # type: ignore[attr-defined]
        "blocks_build": row.last_blocks_build,  # type: ignore[attr-defined]
    }


def _build(row: Build) -> dict[str, Any]:
    revision = row.revision
    return {
        "id": row.id,
        "number": row.number,
        "state": row.state,
        "attempt": row.attempt,
        "config": {
            "id": revision.config_id,
            "name": revision.config.name,
            "revision": revision.number,
        },
        "pool": row.pool,
        "runtime": row.runtime,
        "created_at": _moment(row.created_at),
        "created_by": row.created_by.email if row.created_by else None,
        "started_at": _moment(row.started_at),
        "finished_at": _moment(row.finished_at),
        "cancel_requested_at": _moment(row.cancel_requested_at),
        "artifact_id": row.artifact_id,
        "failure": row.failure,
    }


def _secret(row: Secret, uses: Iterable[Any]) -> dict[str, Any]:
    return {
        "id": row.id,
        "created_at": _moment(row.created_at),
        "name": row.name,
        "team_name": row.team.name,
        "updated_at": _moment(row.updated_at),
        "updated_by": row.updated_by.email if row.updated_by else None,
        "last_used_at": _moment(row.last_used_at),
        "expires_at": _moment(row.expires_at),
        "used_by": [
            {"kind": use.kind, "id": use.id, "name": use.name, "url": use.url} for use in uses
        ],
    }


def _moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None


urlpatterns = [
    path("ready", lambda _request: HttpResponse()),
    path("page", page),
    path("v1/configs", listed(configs)),
    path("v1/builds", listed(builds)),
    path("v1/secrets", listed(secrets)),
]
