from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from apps.accounts.forms import KEY_TYPES, ApiKeyForm
from apps.accounts.keys.services import LIMITS, KeyLimits, api_key_create, api_key_revoke
from apps.accounts.models import ApiKey, ApiKeyType
from apps.accounts.pages import actor_on, page, person, words_of
from apps.accounts.permissions import Action, require
from apps.accounts.selectors import api_key_list
from apps.rest.errors import Conflict, InvalidInput, NotFound
from apps.ui.listing import list_query_in, sorted_rows

_SORTS = {
    "name": "name",
    "prefix": "prefix",
    "created": "created_at",
    "used": "last_used_at",
}
_OWNED = {
    ApiKeyType.PERSONAL: "do what {} may",
    ApiKeyType.WORKSPACE_INVOKE: "try a model as {}",
}
"""What a key of a person may."""


@page
@never_cache
@require_GET
def key_list(request: HttpRequest) -> HttpResponse:
    return _keys(request, ApiKeyForm())


@page
@never_cache
@require_POST
def key_create(request: HttpRequest) -> HttpResponse:
    """Make a key and show its text in this one answer: a redirect would have to keep it."""
    form = ApiKeyForm(request.POST)
    if not form.is_valid():
        return _keys(request, form, status=400)
    key_type = ApiKeyType(form.cleaned_data["type"])
    is_personal = key_type is ApiKeyType.PERSONAL
    require(actor_on(request), Action.OWN_KEYS if is_personal else Action.TEAM_KEYS)
    try:
        made = api_key_create(
            team=person(request).team,
            type=key_type,
            owner=person(request) if is_personal else None,
            name=form.cleaned_data["name"],
            model_ids=form.cleaned_data["model_ids"],
            limits=KeyLimits(**{name: form.cleaned_data[name] for name in LIMITS}),
        )
    except InvalidInput as error:
        form.add_error(next(iter(error.fields), None), words_of(error))
        return _keys(request, form, status=400)
    return _keys(request, ApiKeyForm(), made=made.text)


@page
@require_POST
def key_revoke(request: HttpRequest, key_id: str) -> HttpResponse:
    key = api_key_list(actor_on(request)).filter(id=key_id).first()
    if key is None:
        raise NotFound(f"There is no API key `{key_id}`.")
    is_own = key.owner_id == person(request).id
    require(actor_on(request), Action.OWN_KEYS if is_own else Action.TEAM_KEYS)
    if request.POST.get("name", "").strip() != key_name(key):
        raise Conflict(f"Type `{key_name(key)}` to revoke the key.", fields=["name"])
    api_key_revoke(api_key=key)
    messages.success(request, f"The key `{key_name(key)}` is revoked.")
    return redirect("accounts:keys")


def key_name(key: ApiKey) -> str:
    return key.name or key.prefix


def _keys(
    request: HttpRequest, form: ApiKeyForm, *, made: str | None = None, status: int = 200
) -> HttpResponse:
    list_query = list_query_in(request, sorts=_SORTS)
    keys = sorted_rows(api_key_list(actor_on(request)), list_query.sort, _SORTS)
    rows = [_row(key) for key in keys]
    context = {"form": form, "made": made, "keys": rows, "asked": list_query}
    return render(request, "accounts/keys.html", context, status=status)


def _row(key: ApiKey) -> dict[str, object]:
    says = KEY_TYPES.get(ApiKeyType(key.type), key.type)
    if key.owner is not None:
        says = _OWNED[ApiKeyType(key.type)].format(key.owner.email)
    return {"key": key, "says": says, "confirms": key_name(key), "limits": limit_words(key)}


def limit_words(key: ApiKey) -> list[str]:
    lists = (
        (key.environments, "only {}", "no environment"),
        (key.model_ids, "models {}", "no model"),
    )
    numbers = (
        (key.requests_per_minute, "{} requests/min"),
        (key.tokens_per_minute, "{} tokens/min"),
        (key.parallel_requests, "{} at a time"),
        (key.monthly_spend, "{} a month"),
    )
    return [
        *(
            words.format(", ".join(names)) if names else none
            for names, words, none in lists
            if names is not None
        ),
        *(words.format(value) for value, words in numbers if value is not None),
    ]
