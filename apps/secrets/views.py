"""Pages of the team's secrets: names, dates and tests; values go in and never come out."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts.pages import page, person
from apps.rest.errors import Conflict, InvalidInput
from apps.secrets.forms import ExpiryForm, SecretForm
from apps.secrets.names import normal_name
from apps.secrets.presentation import secret_context, secret_rows
from apps.secrets.selectors import secret_get, secret_list, secret_of_id
from apps.secrets.services.trials import secret_test_request
from apps.secrets.services.values import secret_delete, secret_expire, secret_set
from apps.ui.fragments import live_answer
from apps.ui.listing import list_query_in, page_in, sorted_rows
from apps.ui.undo import say_undoable

_SORTS = {
    "name": "name",
    "set": "updated_at",
    "used": "last_used_at",
    "expires": "expires_at",
}


@page
@require_http_methods(["GET", "POST"])
def secrets(request: HttpRequest) -> HttpResponse:
    team = person(request).team
    form = SecretForm(request.POST or None, initial={"name": request.GET.get("name", "")})
    if form.is_valid():
        is_new = secret_get(team=team, name=form.cleaned_data["name"]) is None
        stored = secret_set(team=team, user=person(request), **form.cleaned_data)
        messages.success(request, f"`{stored.name}` is {'stored' if is_new else 'replaced'}.")
        return redirect("secrets:list")
    list_query = list_query_in(request, sorts=_SORTS)
    secrets = secret_list(team=team).filter(name__icontains=normal_name(list_query.words))
    shown = page_in(request, sorted_rows(secrets, list_query.sort, _SORTS))
    rows = secret_rows(team, list(shown))
    context = {"form": form, "rows": rows, "page": shown, "asked": list_query}
    return render(request, "secrets/page.html", context, status=400 if form.errors else 200)


@page
@require_safe
def secret(request: HttpRequest, secret_id: str) -> HttpResponse:
    team = person(request).team
    secret = secret_of_id(team=team, secret_id=secret_id)
    return live_answer(
        request,
        page="secrets/secret.html",
        part="secrets/_secret.html",
        context=secret_context(team, secret),
    )


@page
@require_POST
def expire(request: HttpRequest, secret_id: str) -> HttpResponse:
    secret = secret_of_id(team=person(request).team, secret_id=secret_id)
    form = ExpiryForm(request.POST)
    if not form.is_valid():
        problems = " ".join(str(each) for each in form.errors["expires_at"])
        raise InvalidInput(problems, fields=["expires_at"])
    before = secret.expires_at
    secret = secret_expire(secret=secret, expires_at=form.cleaned_data["expires_at"])
    end = f"expires on {secret.expires_at:%Y-%m-%d}" if secret.expires_at else "does not expire"
    fields = {"expires_at": f"{before:%Y-%m-%d}" if before else ""}
    say_undoable(request, f"`{secret.name}` {end}.", path=request.path, fields=fields)
    return redirect("secrets:secret", secret.id)


@page
@require_POST
def test(request: HttpRequest, secret_id: str) -> HttpResponse:
    secret = secret_of_id(team=person(request).team, secret_id=secret_id)
    target = request.POST.get("target", "")
    secret_test_request(secret=secret, target=target, user=person(request))
    return redirect("secrets:secret", secret.id)


@page
@require_POST
def delete(request: HttpRequest, secret_id: str) -> HttpResponse:
    team = person(request).team
    typed = normal_name(request.POST.get("name", "").strip())
    if not secret_list(team=team).filter(id=secret_id, name=typed).exists():
        raise Conflict("The typed name is not the secret's. Nothing was deleted.", fields=["name"])
    secret_delete(team=team, name=typed)
    messages.success(request, f"`{typed}` is deleted.")
    return redirect("secrets:list")
