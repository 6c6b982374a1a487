"""The page of every field of a config, searched by words, and the JSON Schema for editors."""

from collections.abc import Sequence
from dataclasses import replace

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.accounts.pages import page
from controlplane.domain.config_reference import ConfigBlock, config_blocks
from controlplane.domain.spec.json_schema import config_schema

_CACHED_SECONDS = 3600


@page
@require_safe
def config_reference(request: HttpRequest) -> HttpResponse:
    words = request.GET.get("q", "").strip()[:200]
    matching = _matching(words.lower().replace("`", "").split())
    context = {
        "asked": words,
        "blocks": matching,
        "count": _count(matching),
        "total": _count(config_blocks()),
        "modeline": f"# yaml-language-server: $schema={settings.PUBLIC_URL}"
        f"{reverse('dashboard:config_schema')}",
    }
    return render(request, "dashboard/config_reference.html", context)


@require_safe
@cache_control(public=True, max_age=_CACHED_SECONDS)
def schema(request: HttpRequest) -> HttpResponse:
    """Return the schema; an editor has no key, and it holds nothing of anybody."""
    answer = JsonResponse(config_schema())
    # Editors that are pages of other hosts read it too.
    answer["Access-Control-Allow-Origin"] = "*"
    return answer


def _matching(words: list[str]) -> list[ConfigBlock]:
    blocks = [
        replace(block, fields=[each for each in block.fields if each.matches(words)])
        for block in config_blocks()
    ]
    return [block for block in blocks if block.fields]


def _count(blocks: Sequence[ConfigBlock]) -> int:
    return sum(len(block.fields) for block in blocks)
