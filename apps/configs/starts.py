"""Where a new config begins: a checkpoint, a pasted text or command, an example, or a copy."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from apps.accounts.models import Team
from apps.configs.form_values import text_data
from apps.configs.models import CheckpointRecord, FactsState
from apps.configs.selectors import config_get, host_offers, revision_last
from apps.configs.services.facts import facts_request, is_awaited
from apps.rest.errors import InvalidInput, NotFound
from apps.secrets.names import normal_name
from apps.secrets.selectors import secret_names
from controlplane.domain.commands.invocation import RefusedCommandError
from controlplane.domain.documented_configs import DOCUMENTED
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.quantization import PROPOSED
from controlplane.domain.memory import FitRow, GpuOffer
from controlplane.domain.presets import PRESETS, Preset
from controlplane.domain.proposal import Named, Proposal, best_rows, propose
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.checkpoint_repository import is_hub_id
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml

_LONGEST_REPO = 512
_OURS = frozenset(
    {"trt_llm", "model_name", "resources", "enginehouse", "model_metadata"}
    | {"speculator", "quantization_config"}
)
"""Any of these keys makes a mapping a config, or a part of one, and not a server's own file."""
EXAMPLES: Mapping[str, Preset] = {each.name: each for each in (*PRESETS, *DOCUMENTED)}


@dataclass(frozen=True, kw_only=True)
class Reading:
    named: Named
    record: CheckpointRecord
    owned: tuple[GpuOffer, ...]

    @property
    def waits(self) -> bool:
        return self.record.state != FactsState.READY and is_awaited(self.record)

    @cached_property
    def facts(self) -> CheckpointFacts | None:
        return CheckpointFacts.model_validate(self.record.facts) if self.record.facts else None

    @cached_property
    def rows(self) -> tuple[FitRow, ...]:
        return best_rows(self.facts, self.named, self.owned) if self.facts else ()

    @property
    def choices(self) -> tuple[FitRow, ...]:
        first: dict[str, FitRow] = {}
        for row in self.rows:
            if not row.reasons and row.quantization_type in PROPOSED:
                first.setdefault(row.offer.kind, row)
        return tuple(first.values())

    def proposal(self, parameters: Mapping[str, str]) -> Proposal | None:
        if self.facts is None:
            return None
        choice = (parameters.get("gpu"), parameters.get("precision"), parameters.get("devices"))
        rows = self.rows if all(choice) else ()
        named = (row for row in rows if row_name(row) == choice)
        return propose(self.facts, self.named, self.owned, next(named, None))


def row_name(row: FitRow) -> tuple[str, str, str]:
    return row.offer.kind, row.quantization_type, str(row.devices)


def reading_of(*, team: Team, parameters: Mapping[str, str]) -> Reading:
    """Return what is known of the named checkpoint, having asked for it. Raises InvalidInput."""
    repo = parameters.get("repo", "").strip()
    if not repo or len(repo) > _LONGEST_REPO or not repo.isprintable():
        raise InvalidInput(
            "Name the checkpoint as its source does, such as `Qwen/Qwen3-8B`.", fields=["repo"]
        )
    secret = normal_name(parameters.get("secret", ""))
    secret = secret if secret in secret_names(team=team) else ""
    source = "LOCAL" if repo.startswith("/") else "HF"
    if source == "HF" and not is_hub_id(repo):
        raise InvalidInput(
            f"`{repo}` is not a hub repository id, such as `Qwen/Qwen3-8B`, and not a folder, "
            "which begins with `/`. Buckets and addresses are written in the config itself.",
            fields=["repo"],
        )
    checkpoint = CheckpointRepository.model_validate(
        {"source": source, "repo": repo} | ({"runtime_secret_name": secret} if secret else {})
    )
    return Reading(
        named=Named(source=source, repo=repo, secret_name=secret),
        record=facts_request(team=team, checkpoint=checkpoint, secret=secret),
        owned=owned_gpus(),
    )


def owned_gpus() -> tuple[GpuOffer, ...]:
    return tuple(
        GpuOffer(kind=each.kind, count=each.count, memory_bytes=each.memory_bytes)
        for each in host_offers()
    )


def started_text(*, team: Team, parameters: Mapping[str, str]) -> str | None:
    """Return the text that an address asks to begin with, None where it asks for none.

    Raises NotFound for what is not there, or cannot be.
    """
    if name := parameters.get("example"):
        if name not in EXAMPLES:
            raise NotFound(f"There is no example `{name}`.")
        return EXAMPLES[name].text
    if config_id := parameters.get("copy"):
        return _copied(team, config_id)
    if parameters.get("repo"):
        return _proposed(team, parameters)
    return None


def pasted_text(pasted: str) -> tuple[str, Mapping[str, Any] | None]:
    """Return the config that a pasted text means, and what an import of a command says of it.

    Raises InvalidInput for what is neither a config nor a command.
    """
    text = pasted.replace("\r\n", "\n")
    data = text_data(text) or {}
    if _OURS & data.keys() or "trt_llm:" in text:
        return text, None
    try:
        imported = import_command(text, owned_gpus()).to_json()
    except RefusedCommandError as refusal:
        words = f"This is neither a config nor a command that can be read. {refusal}"
        raise InvalidInput(words, code="not_a_command", hint=refusal.hint) from None
    return str(imported["text"]), imported


def _proposed(team: Team, parameters: Mapping[str, str]) -> str | None:
    try:
        proposal = reading_of(team=team, parameters=parameters).proposal(parameters)
    except InvalidInput as error:
        raise NotFound(error.message) from error
    return proposal.text if proposal else None


def _copied(team: Team, config_id: str) -> str:
    config = config_get(team=team, config_id=config_id.replace("\0", ""))
    last = revision_last(config=config)
    if last is None:
        raise NotFound(f"The config `{config_id}` has no revision.")
    try:
        return edit_yaml(last.text, {"model_name": f"{config.name}-copy"})
    except UneditableTextError:
        return last.text
