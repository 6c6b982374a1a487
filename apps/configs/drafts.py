"""A draft that came in with a request: posted by the editor, or read from the last revision."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.pages import person
from apps.configs.editor import Draft
from apps.configs.fit_cells import cell_patch
from apps.configs.form_values import apply_changes, model_name_in
from apps.configs.models import Config, Revision
from apps.configs.selectors import device_offers, revision_get, revision_last
from apps.configs.services.configs import config_create, revision_create
from apps.configs.services.examination import examine_parsed, parsed_text
from apps.configs.starts import started_text
from apps.rest.errors import Conflict, InvalidInput
from apps.rest.numbers import whole_number
from controlplane.domain.dotted import value_at
from controlplane.domain.facts.device_offers import DeviceOffer
from controlplane.domain.facts.gpus import CPU
from controlplane.domain.rules.trials import MOST_TRIED
from controlplane.domain.spec import ParseResult
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.edit import UneditableTextError, edit_yaml
from controlplane.domain.text_difference import DifferenceLine, text_difference
from controlplane.domain.text_merge import Clash, merge_texts

_ALL = 1_000_000
_SOURCE = "trt_llm.build.checkpoint_repository.source"
STARTING_TEXT = """\
# A small model that a CPU can serve. Change it here or in the form: both are the same config.
model_name: my-model
resources:
  cpu: "2"
  memory: 4Gi
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: HuggingFaceTB/SmolLM2-135M-Instruct
    max_seq_len: 2048
    max_batch_size: 8
"""


@dataclass(kw_only=True)
class PostedDraft:
    """The text as the editor has it now, and the revision that it began from."""

    user: User
    config: Config | None
    text: str
    base: int
    view: str = "form"
    might_get: bool | None = None
    """None where the person did not say."""
    conflict: Revision | None = None
    """What another saved meanwhile: the text has its changes merged in."""
    clashes: tuple[Clash, ...] = ()
    taken_in: tuple[DifferenceLine, ...] = ()
    refusal: str = ""
    presses_fix: bool = False

    @cached_property
    def parsed(self) -> ParseResult:
        """What the text says; it is read once, whatever shows or checks it."""
        return parsed_text(self.text)

    @property
    def data(self) -> Mapping[str, Any] | None:
        """What the text says as plain data, None while it is not one mapping."""
        return self.parsed.data if self.text.strip() else {}

    @cached_property
    def draft(self) -> Draft:
        examination = examine_parsed(
            team=self.user.team,
            parsed=self.parsed,
            might_get=self.is_planning,
            most_tried=_ALL if self.presses_fix else MOST_TRIED,
        )
        return Draft(
            text=self.text,
            data=self.data,
            checked=examination.to_json(),
            might_get=self.is_planning,
            owned=self.offers,
        )

    @cached_property
    def offers(self) -> tuple[DeviceOffer, ...]:
        return device_offers()

    @property
    def names_folder(self) -> bool:
        return bool(value_at(self.data or {}, _SOURCE) == CheckpointSource.LOCAL)

    @property
    def is_planning(self) -> bool:
        """Whether any kind of GPU may be named: as asked, else where no host has one."""
        if self.might_get is not None:
            return self.might_get
        return all(offer.kind == CPU for offer in self.offers)

    @cached_property
    def last(self) -> Revision | None:
        return revision_last(config=self.config) if self.config else None

    @property
    def saved_revision(self) -> Revision | None:
        """The last revision, where the text is what it says."""
        return self.last if self.last and self.last.text == self.text else None

    def apply_fix(self, index: str, code: str) -> None:
        """Change the text as a finding's fix says; one that is gone by now changes nothing.

        What was offered untried is tried now, and where it does not pass the finding says why.
        """
        self.presses_fix = True
        findings = self.draft.findings
        number = whole_number(index)
        if number is None or number >= len(findings):
            return
        finding = findings[number]
        if finding["code"] == code and finding["fix"]:
            self._edit(finding["fix"]["patch"])

    def take_cell(self, cell: str) -> None:
        patch = cell_patch(self.data, cell) if self.data is not None else {}
        if patch:
            self._edit(patch)

    def save(self) -> Revision | None:
        """Return the revision that now holds the text, or None with the reason on the draft."""
        try:
            return self._store()
        except Conflict as error:
            if error.code != "stale_revision":
                self.refusal = f"{error.message} {error.hint or ''}".strip()
            elif self.last is not None:
                self._merge(self.last)
        except InvalidInput as error:
            self.refusal = f"This cannot be saved yet. {error.message}"
        return None

    def _merge(self, last: Revision) -> None:
        """Take in what another saved meanwhile; whoever saves again has been told of it."""
        assert self.config is not None
        begun = revision_get(config=self.config, number=self.base) if self.base else None
        merge = merge_texts(begun.text if begun else "", last.text, self.text)
        self.clashes = merge.clashes
        self.taken_in = text_difference(self.text, merge.text)
        self.conflict, self.base = last, last.number
        self._write(merge.text)

    def _edit(self, patch: Mapping[str, Any]) -> None:
        try:
            self._write(edit_yaml(self.text, patch))
        except UneditableTextError as error:
            self.refusal = f"{error} Change it in the YAML view."

    def _write(self, text: str) -> None:
        """Replace the text; what was parsed of the last one no longer holds."""
        self.text, self.presses_fix = text, False
        for name in ("parsed", "draft"):
            self.__dict__.pop(name, None)

    def _store(self) -> Revision | None:
        if self.config is not None:
            return revision_create(
                config=self.config, text=self.text, user=self.user, expected_revision=self.base
            )
        created = config_create(
            team=self.user.team, name=model_name_in(self.data), text=self.text, user=self.user
        )
        return revision_last(config=created)


def opened_draft(request: HttpRequest, config: Config | None) -> PostedDraft:
    user = person(request)
    last = revision_last(config=config) if config else None
    begun = None if config else started_text(team=user.team, parameters=request.GET.dict())
    return PostedDraft(
        user=user,
        config=config,
        text=last.text if last else begun or STARTING_TEXT,
        base=last.number if last else 0,
        view=_view(request.GET.get("view")),
    )


def posted_draft(request: HttpRequest, config: Config | None) -> PostedDraft:
    """Return the draft that the editor posted: its text with the touched fields written into it."""
    given: dict[str, Any] = request.POST.dict()
    # Forms send CRLF; a config file has LF.
    text = given.get("text", "").replace("\r\n", "\n")
    changed = set(given.get("changed", "").split()) - {"text"}
    refusal = ""
    try:
        text = apply_changes(text, changed, given)
    except UneditableTextError as error:
        refusal = str(error)
    return PostedDraft(
        user=person(request),
        config=config,
        text=text,
        base=whole_number(given.get("base", "")) or 0,
        view=_view(given.get("view")),
        might_get=given.get("might_get") == "on",
        refusal=refusal,
    )


def _view(view: str | None) -> str:
    return "yaml" if view == "yaml" else "form"
