"""The checks of a config with all that is known at this moment; what is not known is asked for."""

from dataclasses import asdict, replace

from apps.accounts.models import Team
from apps.configs.calibration_sets.selectors import known_sets
from apps.configs.models import FactsState, Revision
from apps.configs.remote_code.selectors import code_grants
from apps.configs.selectors import offers_of_hosts
from apps.configs.services.facts import facts_request, is_awaited
from apps.rest.errors import InvalidInput
from apps.secrets.names import normal_name
from apps.secrets.selectors import secret_expiries, secret_names
from controlplane.domain.facts.calibration_sets import may_name_sets
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.failures import Failure, fields
from controlplane.domain.failures.registry import any_source
from controlplane.domain.rules.context import Known, every_kind
from controlplane.domain.rules.examine import Examination, examine
from controlplane.domain.runtimes.choice import kind_of
from controlplane.domain.spec import ParseResult, Spec, parse_text
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.storable import is_storable, unstorable_text

LONGEST_TEXT_CHARACTERS = 200_000
_LONGEST = {"repo": 512, "revision": 128}
_LONGEST_ADDRESS = 2000
"""Of an archive: a signed one carries a session token. More would not fit the index."""


def examine_text(*, team: Team, text: str) -> Examination:
    """Return what the checks say of a text now. Stores nothing but the request for facts."""
    return examine_parsed(team=team, parsed=parsed_text(text))


def parsed_text(text: str) -> ParseResult:
    """Return what the text says. Raises InvalidInput where it cannot be a config file at all."""
    parsed = parse_text(checked_text(text))
    _refuse_unstorable(parsed)
    return parsed


def examine_parsed(*, team: Team, parsed: ParseResult, might_get: bool = False) -> Examination:
    """Return what the checks say now of a text that was parsed.

    With `might_get` a full host of every kind of GPU is taken as there.
    """
    known = known_of(team=team, spec=parsed.spec)
    if might_get and known.devices is not None:
        # Nobody knows what hosts would start that are not there yet.
        known = replace(
            known,
            devices=(*known.devices, *every_kind(cpu_memory_bytes=0)[1:]),
            runtimes=known.runtimes or None,
        )
    return examine(parsed, known)


def revision_examine(*, revision: Revision) -> Examination:
    """Return what the checks say of a revision now; what it stored may be older."""
    return examine_text(team=revision.config.team, text=revision.text)


def known_of(*, team: Team, spec: Spec | None) -> Known:
    """Return the facts that the checks of a spec need, as far as they have arrived."""
    if spec is None:
        return Known()
    stored = secret_names(team=team)
    written = {name for name in spec.secret_names if normal_name(name) in stored}
    facts, failure = _checkpoint(team, spec, stored)
    offered, kind = offers_of_hosts(), kind_of(spec)
    return Known(
        checkpoint=facts,
        checkpoint_failure=failure,
        secret_names=stored | written,
        secret_expiries=secret_expiries(team=team, names=spec.secret_names),
        devices=offered.most_devices,
        runtimes=offered.runtimes(kind=kind, pool=spec.pool),
        versions=offered.versions(kind=kind, pool=spec.pool),
        calibration_sets=known_sets(team=team) if may_name_sets(spec) else (),
        code_grants=code_grants(spec.checkpoint) if facts and facts.remote_code else (),
    )


def checked_text(text: str) -> str:
    """Return the text. Raises InvalidInput where it cannot be a config file at all."""
    if len(text) > LONGEST_TEXT_CHARACTERS:
        raise InvalidInput(
            f"The config has {len(text):,} characters; {LONGEST_TEXT_CHARACTERS:,} are the most.",
            fields=["text"],
        )
    if not is_storable(text):
        raise InvalidInput("The config has characters that are not text.", fields=["text"])
    return text


def _checkpoint(
    team: Team, spec: Spec, stored: frozenset[str]
) -> tuple[CheckpointFacts | None, Failure | None]:
    checkpoint = spec.checkpoint
    if checkpoint is None:
        return None, None
    is_address = checkpoint.source is CheckpointSource.REMOTE_URL and checkpoint.repo.isascii()
    for field, usual in _LONGEST.items():
        longest = _LONGEST_ADDRESS if field == "repo" and is_address else usual
        if len(getattr(checkpoint, field) or "") > longest:
            return None, _too_long(field, longest)
    record = facts_request(team=team, checkpoint=checkpoint, secret=_secret_of(spec, stored))
    if record.state == FactsState.READY:
        return CheckpointFacts.model_validate(record.facts), None
    if record.state == FactsState.FAILED and not is_awaited(record):
        return None, Failure.from_json(record.failure or {})
    return None, None


def _secret_of(spec: Spec, stored: frozenset[str]) -> str:
    """Return the stored secret that opens the checkpoint, empty unless the config lists it.

    A build gets no other one, so what another one opens would be said of a build that fails.
    """
    assert spec.checkpoint is not None
    name = normal_name(spec.checkpoint.runtime_secret_name)
    listed = {normal_name(each) for each in spec.secret_names}
    return name if name in listed & stored else ""


def _too_long(field: str, longest: int) -> Failure:
    place = f"{fields.REPOSITORY}.{field}"
    return any_source.TOO_LONG.failure(name=field, longest=longest, field=place)


def _refuse_unstorable(parsed: ParseResult) -> None:
    """YAML escapes can spell what neither the database nor JSON can hold."""
    spec = parsed.spec
    said = spec.model_dump(mode="json") if spec else [asdict(error) for error in parsed.errors]
    if unstorable_text(said):
        raise InvalidInput(
            "The config spells a NUL or half a surrogate pair, which is not text.",
            fields=["text"],
        )
