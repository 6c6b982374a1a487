"""Configs and their revisions: each save makes a new revision, and none ever changes."""

import re

from django.db import IntegrityError, transaction

from apps.accounts.audit.recording import audit
from apps.accounts.models import Team, User
from apps.configs.models import Config, Revision
from apps.configs.selectors import revision_last
from apps.configs.services.examination import examine_text
from apps.configs.services.verdicts import verdict_fields, verdict_settle
from apps.rest.errors import Conflict, InvalidInput
from apps.secrets.names import normal_name
from apps.secrets.services.redaction import secret_in
from controlplane import clock
from controlplane.domain.rules.examine import Examination

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def config_create(*, team: Team, name: str, text: str, user: User | None = None) -> Config:
    """Return a new config with its first revision.

    Raises InvalidInput for a text that does not parse, with its findings, and Conflict for a name
    that the team has given already.
    """
    name = checked_name(name)
    examination = _examined(team, text)
    try:
        with transaction.atomic():
            config = Config.objects.create(team=team, name=name)
            revision = _store(config, 1, text, examination, user)
            audit("config.create", config, team=team, after={"revision": 1})
    except IntegrityError:
        raise Conflict(
            f"There is a config named `{name}` already.",
            code="name_taken",
            fields=["name"],
            hint="Choose another name, or save a new revision of that config.",
        ) from None
    verdict_settle(revision)
    return config


def revision_create(
    *, config: Config, text: str, user: User | None = None, expected_revision: int | None = None
) -> Revision:
    """Return the revision that holds the text: a new one, or the last if it says the same.

    Raises InvalidInput for a text that does not parse. Raises Conflict with both texts when the
    last revision is not the one that the writer started from.
    """
    examination = _examined(config.team, text)
    with transaction.atomic():
        Config.objects.select_for_update(no_key=True).get(id=config.id)
        last = revision_last(config=config)
        number = last.number if last else 0
        if expected_revision is not None and expected_revision != number:
            raise _stale(expected_revision, last, text)
        if last is not None and last.text == text:
            return last
        Config.objects.filter(id=config.id).update(updated_at=clock.now())
        revision = _store(config, number + 1, text, examination, user)
        before, after = {"revision": number}, {"revision": number + 1}
        audit("config.save", config, team=config.team, before=before, after=after)
    verdict_settle(revision)
    return revision


def checked_name(name: str) -> str:
    """Return the name of a config. Raises InvalidInput."""
    name = name.strip()
    if not 1 <= len(name) <= 128 or _CONTROL.search(name):
        raise InvalidInput("A config has a name of 1 to 128 characters.", fields=["name"])
    return name


def _examined(team: Team, text: str) -> Examination:
    _refuse_values(team, text)
    examination = examine_text(team=team, text=text)
    if examination.spec is None:
        findings = examination.to_json()["findings"]
        raise InvalidInput(
            " ".join(finding["message"] for finding in findings[:3]),
            code=findings[0]["code"],
            fields=[field for finding in findings for field in finding["fields"]],
            hint="Every error is in `details.findings`, with its line.",
            source=findings[0]["source"],
            details={"findings": findings},
        )
    return examination


def _refuse_values(team: Team, text: str) -> None:
    """A revision is kept for good and seen by all: a value in it would be out."""
    name = secret_in(team=team, text=text)
    if name is not None:
        raise InvalidInput(
            f"The config holds the value of the secret `{name}`; nothing was saved.",
            code="secret_value_in_text",
            fields=["text"],
            hint=f"List it by name only: `secrets:` with `{name}: null`.",
        )


def _store(
    config: Config, number: int, text: str, examination: Examination, user: User | None
) -> Revision:
    assert examination.spec is not None
    return Revision.objects.create(
        config=config,
        number=number,
        text=text,
        spec=examination.spec.model_dump(mode="json"),
        secret_names=sorted(map(normal_name, examination.spec.secret_names)),
        created_by=user,
        **verdict_fields(examination),
    )


def _stale(expected: int, last: Revision | None, text: str) -> Conflict:
    who = f" by {last.created_by.email}" if last and last.created_by else ""
    number = last.number if last else 0
    return Conflict(
        f"Revision {number} was saved{who} after you started from revision {expected}.",
        code="stale_revision",
        fields=["expected_revision"],
        hint=f"Compare both texts, then save with `expected_revision` {number}.",
        details={
            "expected_revision": expected,
            "last_revision": number,
            "last_text": last.text if last else "",
            "your_text": text,
        },
    )
