from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.pages import page, person
from apps.configs.comparison import compared
from apps.configs.models import Config
from apps.configs.selectors import config_get, revision_get, revision_last, revision_list
from apps.configs.services.configs import revision_create
from apps.configs.services.renaming import config_rename
from apps.rest.numbers import whole_number
from apps.ui.undo import say_undoable

PAGE_SIZE = 50


@page
@require_GET
def history(request: HttpRequest, config_id: str) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=config_id)
    pages = Paginator(revision_list(config=config).defer("spec", "plan"), PAGE_SIZE)
    shown = pages.get_page(request.GET.get("page"))
    numbers = sorted(whole_number(request.GET.get(side, "")) or 0 for side in ("from", "to"))
    comparison = None
    if numbers[0] and numbers[0] != numbers[1]:
        before, after = (revision_get(config=config, number=number) for number in numbers)
        comparison = compared(before, after)
    last = shown[0].number if shown and shown.number == 1 else 0
    context = {"config": config, "page": shown, "comparison": comparison, "last": last}
    return render(request, "configs/history.html", context)


@page
@require_POST
def restore(request: HttpRequest, config_id: str, number: int) -> HttpResponse:
    config = config_get(team=person(request).team, config_id=config_id)
    old, last = revision_get(config=config, number=number), revision_last(config=config)
    saved = revision_create(
        config=config,
        text=old.text,
        user=person(request),
        expected_revision=last.number if last else 0,
    )
    messages.success(request, f"Revision {saved.number} says what revision {number} said.")
    return redirect("configs:editor", config.id)


@page
@require_POST
def rename(request: HttpRequest, config_id: str) -> HttpResponse:
    config: Config = config_get(team=person(request).team, config_id=config_id)
    before = config.name
    config_rename(config=config, name=request.POST.get("name", ""))
    words = f"It is called `{config.name}` now."
    say_undoable(request, words, path=request.path, fields={"name": before})
    return redirect("configs:history", config.id)
