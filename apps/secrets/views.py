"""The page of the team's secrets: names and dates; values go in and never come out."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.pages import page, person
from apps.rest.errors import Conflict
from apps.secrets.forms import SecretForm
from apps.secrets.names import normal_name
from apps.secrets.selectors import secret_get, secret_list
from apps.secrets.services import secret_delete, secret_set
from apps.secrets.usage import uses_of


@page
@require_http_methods(["GET", "POST"])
def secrets(request: HttpRequest) -> HttpResponse:
    """Show the secrets, or store one, replacing what had its name."""
    team = person(request).team
    form = SecretForm(request.POST or None)
    if form.is_valid():
        is_new = secret_get(team=team, name=form.cleaned_data["name"]) is None
        stored = secret_set(team=team, user=person(request), **form.cleaned_data)
        messages.success(request, f"`{stored.name}` is {'stored' if is_new else 'replaced'}.")
        return redirect("secrets:list")
    rows = list(secret_list(team=team))
    uses = uses_of(team, [secret.name for secret in rows])
    context = {
        "form": form,
        "rows": [{"secret": secret, "uses": uses[secret.name]} for secret in rows],
    }
    return render(request, "secrets/page.html", context, status=400 if form.errors else 200)


@page
@require_POST
def delete(request: HttpRequest, secret_id: str) -> HttpResponse:
    """Delete the secret whose name was typed."""
    team = person(request).team
    typed = normal_name(request.POST.get("name", "").strip())
    if not secret_list(team=team).filter(id=secret_id, name=typed).exists():
        raise Conflict("The typed name is not the secret's. Nothing was deleted.")
    secret_delete(team=team, name=typed)
    messages.success(request, f"`{typed}` is deleted.")
    return redirect("secrets:list")
