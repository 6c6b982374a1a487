import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from apps.accounts.audit.recording import Values, audit, audit_beside
from apps.accounts.models import AuditEntry
from apps.accounts.routes_version import routes_version_bump
from apps.deployments.addresses import CHAT_ROUTE, called_route
from apps.deployments.environments.promotion import candidate_let_go
from apps.deployments.environments.promotion_settings import (
    CLEANUPS,
    PROMOTION_DEFAULTS,
    promotion_settings,
)
from apps.deployments.environments.rolling.answers.guarding import answers_begun
from apps.deployments.environments.rolling.plan import plan_begun
from apps.deployments.models import PRODUCTION, Deployment, Environment, ServedModel
from apps.deployments.services.reconcile import deployment_settle_after_commit
from apps.rest.errors import Conflict, InvalidInput, NotFound
from controlplane.compiled_update import Write
from controlplane.domain.lifecycle import DEPLOYMENT_TERMINAL
from controlplane.domain.rolling.answer_guard import schema_of
from controlplane.domain.rolling.settings import RollSettings, problems_of

RESERVED = frozenset({"development", "deployment", "deployments"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@transaction.atomic
def environment_create(
    *, model: ServedModel, name: str, backpressure_policy: str | None = None
) -> Environment:
    """Return a new, empty environment. Raises InvalidInput or Conflict.

    What comes to it takes over its back-pressure policy, where it has one.
    """
    ServedModel.objects.select_for_update(no_key=True).get(id=model.id)
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise InvalidInput(
            f"`{name}` is not an environment name.",
            fields=["name"],
            hint="Use lower-case letters, digits, `-` and `_`; `development` is taken.",
        )
    if Environment.objects.filter(model=model, name=name).exists():
        raise Conflict(
            f"Model `{model.name}` already has an environment `{name}`.", fields=["name"]
        )
    made = Environment.objects.create(
        model=model, name=name, backpressure_policy=backpressure_policy or ""
    )
    environment_audit("create", made)
    return made


@transaction.atomic
def environment_delete(*, environment: Environment) -> None:
    """Remove an environment; what it pointed at stays. Raises Conflict for production."""
    if environment.name == PRODUCTION:
        raise Conflict("`production` always exists and cannot be deleted.")
    environment_audit("delete", environment)
    # Before its candidate, as everywhere.
    row = Environment.objects.select_for_update().filter(id=environment.id).first()
    if row is not None:
        _let_candidate_go(row)
        row.delete()
    gone = row or environment
    _routes_bump(gone, gone.current_id, gone.candidate_id)


def environment_name_candidate(
    *, model_id: str, name: str, to: Deployment, keep_previous: bool = False
) -> Environment:
    """Return the environment, on its way to the deployment; the caller is in a transaction.

    Raises NotFound or Conflict: one promotion at a time.
    """
    environment = (
        Environment.objects.select_for_update(no_key=True)
        .filter(model_id=model_id, name=name)
        .first()
    )
    if environment is None:
        raise no_environment(name)
    candidate_name(environment, to=to, keep_previous=keep_previous)
    environment.save(update_fields=["candidate", "promotion"])
    return environment


def candidate_name(
    environment: Environment, *, to: Deployment, keep_previous: bool, asks_answers: bool = True
) -> None:
    """Set the environment on its way; the caller has locked it, and stores it. Raises Conflict.

    Without `asks_answers` its answer guard is passed over.
    """
    if environment.candidate_id is not None or environment.promotion_version is not None:
        raise Conflict(
            f"Environment `{environment.name}` is already being promoted to.",
            hint="Wait for that promotion, or cancel it.",
        )
    environment.candidate = to
    settings = promotion_settings(environment)
    settings["answer_guard"] = settings["answer_guard"] if asks_answers else None
    environment.promotion = {
        "status": "RELEASING",
        "percent_traffic_to_new_version": 0,
        "error_message": None,
        "keep_previous": keep_previous,
        **plan_begun(settings),
        **answers_begun(environment, settings["answer_guard"]),
    }


def no_environment(name: str) -> NotFound:
    return NotFound(
        f"There is no environment `{name}`.",
        fields=["environment"],
        hint="Create it first: POST /v1/models/{model_id}/environments.",
    )


@transaction.atomic
def environment_configure(
    *, environment: Environment, promotion_settings: Mapping[str, Any]
) -> Environment:
    """Return the environment with these promotion settings changed. Raises InvalidInput."""
    row = Environment.objects.select_for_update(no_key=True).get(id=environment.id)
    cleanup = promotion_settings.get("promotion_cleanup_strategy", CLEANUPS[0])
    if cleanup not in CLEANUPS:
        raise InvalidInput(
            f"`{cleanup}` is not one of {', '.join(f'`{each}`' for each in CLEANUPS)}.",
            fields=["promotion_settings.promotion_cleanup_strategy"],
        )
    known = {key: value for key, value in promotion_settings.items() if key in PROMOTION_DEFAULTS}
    known = _with_prompts(row.promotion_settings, known)
    changed = {**row.promotion_settings, **_with_rolling(row.promotion_settings, known)}
    _refuse_idle_guard(changed)
    if known.get("answer_guard") is not None:
        _refuse_without_chat(row)
    before, after = (_audited(each) for each in (row.promotion_settings, changed))
    environment_audit("configure", row, before=before, after=after)
    row.promotion_settings = changed
    row.save(update_fields=["promotion_settings"])
    return row


def _refuse_idle_guard(settings: Mapping[str, Any]) -> None:
    if settings.get("slo_guard") is not None and not RollSettings.of(settings).is_gradual:
        raise InvalidInput(
            "`slo_guard` has nothing to compare where all traffic moves in one step.",
            fields=["promotion_settings.slo_guard"],
            hint="Set `rolling_deploy`, `ramp_up_while_promoting` or `canary_percent` as well, or "
            "`slo_guard` to null.",
        )


def _refuse_without_chat(environment: Environment) -> None:
    current = environment.current
    if current is not None and (route := called_route(current)) != CHAT_ROUTE:
        raise InvalidInput(
            f"`answer_guard` compares chat answers, and `{current.name}` is asked at `{route}`.",
            fields=["promotion_settings.answer_guard"],
            hint="Set it to null; `slo_guard` compares every kind of model.",
        )


def _audited(settings: Values) -> Values:
    """Return the settings with a count of prompts in place of them, of which there may be many."""
    guard = settings.get("answer_guard")
    if guard is None:
        return settings
    return {**settings, "answer_guard": {**guard, "prompts": len(guard["prompts"])}}


def _with_prompts(before: Values, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the prompts that are set, where a guard names none of its own."""
    guard = changes.get("answer_guard")
    if guard is None or "prompts" in guard:
        return changes
    known = (before.get("answer_guard") or {}).get("prompts")
    if not known:
        raise InvalidInput(
            "The answer guard has no prompts to ask.",
            fields=["promotion_settings.answer_guard.prompts"],
            hint="Send `prompts`: a list of at least one text or chat body.",
        )
    answer_guard = {**guard, "prompts": known}
    _refuse_without_schema(answer_guard)
    return {**changes, "answer_guard": answer_guard}


def _refuse_without_schema(guard: Mapping[str, Any]) -> None:
    if guard.get("require_valid_schema") and not any(map(schema_of, guard["prompts"])):
        raise InvalidInput(
            "None of its prompts has a `response_format` with a JSON schema.",
            fields=["promotion_settings.answer_guard.require_valid_schema"],
            hint="Send `prompts` with one that has, or leave `require_valid_schema` out.",
        )


def _with_rolling(before: Values, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with what was told of the rolls, over what is set. Raises InvalidInput.

    A percent that is told replaces a number of replicas that was, and the other way round.
    """
    config = changes.get("rolling_deploy_config")
    if config is None:
        return dict(changes)
    known = {**(before.get("rolling_deploy_config") or {}), **config}
    for kind in ("surge", "unavailable"):
        percent, replicas = f"max_{kind}_percent", f"max_{kind}_replicas"
        if percent in config and replicas not in config:
            known.pop(replicas, None)
    for names, sentence, hint in problems_of(known):
        fields = [f"promotion_settings.rolling_deploy_config.{each}" for each in names.split(",")]
        raise InvalidInput(sentence, fields=fields, hint=hint)
    return {**changes, "rolling_deploy_config": known}


def _routes_bump(environment: Environment, *deployment_ids: str | None) -> None:
    named = [each for each in deployment_ids if each is not None]
    routes_version_bump(models=[environment.model_id], deployments=named)


def _let_candidate_go(environment: Environment) -> None:
    candidate = environment.candidate
    if candidate is not None:
        candidate_let_go(candidate)
        deployment_settle_after_commit(deployment_id=candidate.id)


def environment_audit(
    what: str,
    environment: Environment,
    *,
    before: Values | None = None,
    after: Values | None = None,
) -> AuditEntry:
    named = _named(environment)
    return audit(f"environment.{what}", environment, **named, before=before, after=after)


def environment_audit_beside(
    what: str, environment: Environment, *, before: Values, after: Values
) -> Write:
    named = _named(environment)
    return audit_beside(f"environment.{what}", environment, **named, before=before, after=after)


def _named(environment: Environment) -> dict[str, Any]:
    model = environment.model
    return {"team": model.team, "label": f"{model.name}/{environment.name}"}


def deployment_may_be_promoted(deployment: Deployment, environment: Environment) -> None:
    """Return if the deployment can become current there. Raises Conflict."""
    if environment.current_id == deployment.id:
        raise Conflict(
            f"Deployment `{deployment.name}` already is the current one of `{environment.name}`."
        )
    if deployment.state in DEPLOYMENT_TERMINAL:
        words = deployment.state.replace("_", " ")
        raise Conflict(
            f"Deployment `{deployment.name}` is {words}.",
            hint="Activate or retry it first.",
        )
