"""What a runtime is to the rest of the program: who wants to know asks one of these.

A runtime is a folder here with a `runtime.py` in which `RUNTIME` is one, and a folder under
`workers/runtimes`. What it does not say is as below.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from controlplane.domain.commands.draft import Draft
from controlplane.domain.commands.invocation import CommandContext, Invocation
from controlplane.domain.commands.options import Arguments
from controlplane.domain.commands.report import ConfigExport
from controlplane.domain.commands.secrets import CommandSecrets
from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.facts.encoder_routes import RERANK_ROUTE, default_route
from controlplane.domain.failures import Failure
from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.lookahead_tuning.settings import DraftManner
from controlplane.domain.lookahead_tuning.step_times import MeasuredSteps
from controlplane.domain.memory.runtime_memory import RuntimeMemory
from controlplane.domain.runtimes.argument_fault import ArgumentFault
from controlplane.domain.runtimes.capability import Capability, Feature, Proof
from controlplane.domain.runtimes.effective_value import EffectiveValue
from controlplane.domain.runtimes.launch import Launch, Start
from controlplane.domain.runtimes.pairs import Pair
from controlplane.domain.spec import Spec
from controlplane.domain.wire.client_routes import Routes


class Task(StrEnum):
    """What a config wants of GPUs, where `auto` chooses the runtime."""

    TEXT = "text"
    VECTORS = "vectors and scores in 16 bits"
    QUANTIZED_VECTORS = "vectors and scores of quantized weights"


class Capabilities(Protocol):
    """The table of what it can do: by feature, kind of GPU and version."""

    @property
    def VERSIONS(self) -> tuple[str, ...]:
        """Those that commands are written for, oldest first."""
        ...

    @property
    def SEEN_VERSION(self) -> str:
        """The one that was run by us, else the one that commands are written for."""
        ...

    def capability(
        self, feature: Feature, device_kind: str = ..., version: str = ...
    ) -> Capability: ...


class Proofs(Protocol):
    """The kept runs and tests that show cells of the table."""

    @property
    def PROOFS(self) -> Mapping[Feature, tuple[Proof, ...]]: ...


class RouteTables(Protocol):
    """What clients may call, from a version on."""

    @property
    def ROUTES(self) -> Mapping[str, Routes]: ...


class Metrics(Protocol):
    """Where its numbers are, and which of ours each is."""

    @property
    def PATH(self) -> str: ...
    @property
    def PLAIN(self) -> Mapping[str, str]: ...
    @property
    def HISTOGRAMS(self) -> Mapping[str, str]: ...
    @property
    def SINCE(self) -> Mapping[str, str]:
        """Our names that older versions do not have -> the first that has them."""
        ...

    def read(self, exposition_text: str) -> dict[str, float]: ...


class Failures(Protocol):
    """What its log means."""

    @property
    def LOG_PATTERNS(self) -> Sequence[Pattern]: ...

    def explain(self, log_tail: str, spec: Mapping[str, Any] | None = None) -> Failure | None: ...


class CommandReader(Protocol):
    """Reads the command line of its server into a config."""

    def read(self, invocation: Invocation) -> tuple[Arguments, CommandSecrets]: ...
    def parse(
        self, draft: Draft, arguments: Arguments, context: CommandContext, secrets: CommandSecrets
    ) -> None: ...


class CommandExporter(Protocol):
    """Writes the command that means the same to users of its server."""

    def export(self, spec: Spec) -> ConfigExport: ...


class PlannedDevice(Protocol):
    """A GPU, or a host's CPU, that a plan is made for."""

    @property
    def kind(self) -> str: ...
    @property
    def computes_bfloat16(self) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class HostSetting:
    """An environment variable by which a host says where it has the runtime."""

    name: str
    says: str


class Runtime(Protocol):
    name: str
    """As a config, rows and REST say it."""
    label: str
    """In a table's head."""
    title: str
    """In a sentence."""
    capabilities: Capabilities
    proofs: Proofs
    routes: RouteTables
    metrics: Metrics
    failures: Failures
    memory: RuntimeMemory

    pairs: tuple[Pair, ...] = ()
    """Two features that are less together than either alone."""
    ranks: Mapping[Task, int] = MappingProxyType({})
    """Its place where `auto` chooses, the lowest first; without a place it is never chosen."""
    run_by_us: str = "not yet run by us"
    was_run_on_gpus: bool = False
    started: str = "where a host is set up for it"
    is_built_in: bool = False
    """Whether it is there wherever this program is; others are where a host's settings say."""
    needs_gpu: bool = True
    """Whether it serves on GPUs alone, and over several of them."""
    python_setting: HostSetting | None = None
    image_setting: HostSetting | None = None
    passed_on: tuple[str, ...] = ()
    """Further variables of a host that its processes see."""

    takes_dtype: bool = False
    """Whether it computes in `enginehouse.dtype`; others take the checkpoint's own."""
    runs_remote_code: bool = True
    takes_own_arguments: bool = False
    """Whether a config may pass it arguments under its own names."""
    has_default_length: bool = False
    """Whether it can be told how long answers are where a request does not say."""
    non_openai_dialect: bool = False
    """Whether the gateway asks it in words of its own instead of OpenAI's."""
    lacks_responses: bool = False
    """Whether the gateway asks it `/v1/responses` as a chat: it has no such route of its own."""
    salts_every_route: bool = False
    """Whether it takes a `cache_salt` on every route with a JSON body, or passes it over."""
    shortens_open_lengths: bool = False
    """Whether it serves a length that nobody wrote, and that its cache does not hold, shorter."""
    compiles_by_path: bool = False
    """Whether it keys what it compiled by the path that its model was given as."""
    drafts_exclude_chunked_prefill: bool = False
    draft_manner: DraftManner = DraftManner.OFF
    """How it makes the length of a draft; a tuning tries none where it makes none."""
    draft_lengths: tuple[int, ...] = ()
    """The longest drafts that a tuning tries."""
    measured_steps: tuple[MeasuredSteps, ...] = ()
    """Times of its steps with drafts, where they were measured."""
    ignored_settings: Mapping[str, str] = MappingProxyType({})
    """Settings that a check names as having no effect on it, and why."""
    not_told: Mapping[str, str] = MappingProxyType({})
    """Settings that its engine is not told, beside those that none is, and why."""
    told_alone: Mapping[str, str] = MappingProxyType({})
    """Settings that its engine is told though others are not, and what for."""
    generating_words: str = ""
    """Which classes it makes text with, as a sentence."""
    pooling_words: str = ""
    """Which encoders it takes, in a sentence; empty where its table says all."""
    command_reader: CommandReader | None = None
    command_exporter: CommandExporter | None = None

    @property
    def start_variables(self) -> tuple[str, ...]:
        """Variables of a host any of which says that it has the runtime."""
        settings = (self.python_setting, self.image_setting)
        return tuple(setting.name for setting in settings if setting is not None)

    def is_named(self, environment: Mapping[str, str]) -> bool:
        """Return whether a host with these settings is set up to start it."""
        return self.is_built_in or any(map(environment.get, self.start_variables))

    def render(self, spec: Spec, checkpoint: CheckpointFacts, start: Start) -> Launch:
        """Return the launch of an engine. Raises ValueError, UnplannableError."""
        ...

    def takes(self, spec: Spec, checkpoint: CheckpointFacts | None) -> bool:
        """Return whether it takes the number of GPUs and the model, its table aside."""
        return True

    def generates(self, architecture: str) -> bool:
        """Return whether it makes text with a checkpoint of this class, as far as is known here."""
        return True

    def pools(self, architecture: str) -> bool:
        """Return whether it makes vectors or scores with a checkpoint of this class."""
        return True

    def predict_route(
        self, route: str | None, checkpoint: CheckpointFacts, *, ranks: bool = False
    ) -> str:
        """Return where its engine answers what `predict` of an encoder asks.

        `route` is the config's route, one of the hosted product's; `ranks` says that a language
        model is to rank by its answers.
        """
        return route or (RERANK_ROUTE if ranks else default_route(checkpoint))

    def tool_refusal(self, spec: Spec, checkpoint: CheckpointFacts) -> str | None:
        """Return why requests with tools are refused though the template shows tools, if so."""
        return None

    def unread_reasoning(self, spec: Spec, checkpoint: CheckpointFacts) -> str | None:
        """Return how answers set reasoning apart, in words, where it is left in them."""
        return None

    def argument_faults(self, spec: Spec, version: str) -> Iterable[ArgumentFault]:
        """Return what is wrong with arguments by its own names, in one of its versions."""
        return ()

    def tables_by_class(self, device_kinds: Sequence[str]) -> Iterable[str]:
        """Return further tables of the reference, where classes of models differ; none else."""
        return ()

    def memory_in(self, version: str) -> RuntimeMemory:
        """Return what a plan has to know of one of its versions."""
        return self.memory

    def ignored_in(self, spec: Spec) -> Mapping[str, str]:
        """Return the settings that have no effect on it in this config, and why."""
        return self.ignored_settings

    def drafts_greedily(self, version: str) -> bool:
        """Return whether lookahead takes the most likely token, whatever a request asks."""
        return False

    def lacks_prediction_layers(self, checkpoint: CheckpointFacts) -> bool:
        """Return whether multi-token prediction finds no layers of the checkpoint to draft with."""
        return not checkpoint.draft_layers

    def untranslated(self, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the engine arguments that it has no counterpart for."""
        return ()

    def effective_values(
        self, spec: Spec, checkpoint: CheckpointFacts | None, device: PlannedDevice | None
    ) -> Iterable[EffectiveValue]:
        """Return the settings that it uses otherwise than asked."""
        return ()

    def adapter_choice(self, name: str, number: int, folder: str) -> Mapping[str, Any] | None:
        """Return what a request for an adapter says; None where it names it as its `model`."""
        return None


def capability_of(runtime: Runtime, feature: Feature, kind: str) -> Capability:
    """Return a cell of the runtime's table, of the version that we ran or else its own."""
    return runtime.capabilities.capability(feature, kind, runtime.capabilities.SEEN_VERSION)


def variables_of(runtimes: Iterable[Runtime]) -> Iterator[str]:
    for runtime in runtimes:
        yield from (*runtime.start_variables, *runtime.passed_on)
