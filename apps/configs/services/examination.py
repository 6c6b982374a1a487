"""The checks of a config with all that is known at this moment; what is not known is asked for."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property

from apps.accounts.models import Team
from apps.configs.calibration_sets.selectors import known_sets
from apps.configs.models import FactsState, Revision
from apps.configs.remote_code.selectors import code_grants
from apps.configs.selectors import HostOffers, offers_of_hosts
from apps.configs.services.facts import facts_request, is_awaited
from apps.rest.errors import InvalidInput
from apps.secrets.names import normal_name
from apps.secrets.selectors import secret_expiries, secret_names
from controlplane.domain.facts.calibration_sets import CalibrationSet, may_name_sets
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.failures import Failure, fields
from controlplane.domain.failures.registry import any_source
from controlplane.domain.rules.context import Known, every_kind
from controlplane.domain.rules.examine import Examination, examine_with_fixes
from controlplane.domain.rules.trials import MOST_TRIED, KnownFor
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


def examine_parsed(
    *, team: Team, parsed: ParseResult, might_get: bool = False, most_tried: int = MOST_TRIED
) -> Examination:
    """Return what the checks say now of a text that was parsed, with fixes that were tried.

    With `might_get` a full host of every kind of GPU is taken as there.
    """
    facts = _Facts(team=team, spec=parsed.spec, might_get=might_get)
    return examine_with_fixes(parsed, facts.of, most=most_tried)


def revision_examine(*, revision: Revision) -> Examination:
    """Return what the checks say of a revision now; what it stored may be older."""
    return examine_text(team=revision.config.team, text=revision.text)


def known_of(*, team: Team, spec: Spec | None) -> Known:
    return _Facts(team=team, spec=spec).of(spec) if spec else Known()


def known_for(*, team: Team, spec: Spec | None, might_get: bool) -> KnownFor:
    return _Facts(team=team, spec=spec, might_get=might_get).of


@dataclass(kw_only=True)
class _Facts:
    """What is known of a config and of those that a fix would make of it."""

    team: Team
    spec: Spec | None
    might_get: bool = False

    def of(self, spec: Spec) -> Known:
        """Return the facts of a spec; those of the checkpoint are the ones of the config's own."""
        if self.spec is None:
            return Known()
        named = frozenset(n for n in spec.secret_names if normal_name(n) in self._stored)
        return replace(
            self._own,
            secret_names=self._stored | named,
            runtimes=self._runtimes(spec),
            versions=self._offered.versions(kind=kind_of(spec), pool=spec.pool),
            calibration_sets=self._sets if may_name_sets(spec) else (),
        )

    @cached_property
    def _own(self) -> Known:
        assert self.spec is not None
        facts, failure = _checkpoint(self.team, self.spec, self._stored)
        return Known(
            checkpoint=facts,
            checkpoint_failure=failure,
            secret_expiries=secret_expiries(team=self.team, names=self.spec.secret_names),
            devices=self._devices,
            code_grants=code_grants(self.spec.checkpoint) if facts and facts.remote_code else (),
        )

    @cached_property
    def _stored(self) -> frozenset[str]:
        return secret_names(team=self.team)

    @cached_property
    def _offered(self) -> HostOffers:
        return offers_of_hosts()

    @cached_property
    def _sets(self) -> tuple[CalibrationSet, ...]:
        return known_sets(team=self.team)

    @property
    def _devices(self) -> tuple[DeviceOffer, ...] | None:
        offered = self._offered.most_devices
        if not self.might_get or offered is None:
            return offered
        return (*offered, *every_kind(cpu_memory_bytes=0)[1:])

    def _runtimes(self, spec: Spec) -> frozenset[str] | None:
        started = self._offered.runtimes(kind=kind_of(spec), pool=spec.pool)
        # Nobody knows what hosts would start that are not there yet.
        planned = self.might_get and self._devices is not None
        return started or None if planned else started


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
    content = spec.model_dump(mode="json") if spec else [asdict(error) for error in parsed.errors]
    if unstorable_text(content):
        raise InvalidInput(
            "The config spells a NUL or half a surrogate pair, which is not text.",
            fields=["text"],
        )
