"""What the gateway knows of models, deployments, replicas and keys: one immutable value."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.domain.wire.identity import Identity
from workers.gateway.consents import Consent
from workers.gateway.spend.measured import Spend

Routes = Mapping[str, frozenset[bytes]]


class Scope(StrEnum):
    FULL = "full"
    INVOKE = "invoke"
    METRICS = "metrics"


@dataclass(frozen=True, kw_only=True, slots=True)
class Replica:
    id: str
    host: str
    port: int
    address: str
    """Identity of the process: a replica that moved is another one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A replica of a silent node: asked only while it says itself that it is this one."""

    replica: Replica
    probe_port: int
    identity: Identity


@dataclass(frozen=True, kw_only=True, slots=True)
class Backpressure:
    """How many requests a replica carries at a time, and what becomes of those beyond."""

    concurrency: int
    rejects: bool
    """Else they wait for their turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    id: str
    model_id: str
    name: str
    status: str
    environment: str | None
    served_model_name: str | None
    predict_route: str
    adapters: frozenset[str]
    shares_prefixes: bool
    """Whether all keys of the team use each other's cached beginnings of prompts."""
    salts_every_route: bool
    """Whether the engine takes a salt wherever it takes JSON, not only for completions."""
    default_max_tokens: int | None
    """Length of answers to requests that name none, where the engine has no such setting."""
    has_own_words: bool
    """Whether the engine is asked in TensorRT-LLM's words where they differ from OpenAI's."""
    translates_responses: bool
    """Whether the engine is asked `/v1/responses` as a chat."""
    routes: Routes
    """The engine's own paths that clients may call, with the methods for each."""
    extra_routes: frozenset[str]
    """Those of them that the config opens: what they use is not metered."""
    backpressure: Backpressure | None
    """None where a replica is sent whatever comes."""
    replicas: tuple[Replica, ...]
    suspects: tuple[Suspect, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What goes to another deployment than the one that an environment points at."""

    candidate: str
    percent: int
    by_header: bool
    """Whether clients may ask for it, or for the other, by a header."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    id: str
    name: str
    team_id: str
    environments: Mapping[str, str]
    deployments: Mapping[str, Deployment]
    shares: Mapping[str, Share] = field(default_factory=dict)
    """By environment, where one rolls."""
    consent: Consent | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    id: str
    scope: Scope
    team_id: str
    model_ids: frozenset[str] | None
    environments: frozenset[str] | None
    expires_at: float | None
    requests_per_minute: int | None
    parallel_requests: int | None
    tokens_per_minute: int | None
    spent_until: float | None
    """Until when the money of this month is used up."""
    traffic_mark: str = ""
    """What its requests must be marked as, and no others may."""
    spend: Spend | None = None
    """What was measured of its month, where something limits it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    version: int
    models: Mapping[str, Model]
    keys: Mapping[str, Key]
    """By the SHA-256 of the whole key, in hex."""
    since: int | None = field(default=None, compare=False)
    """The version that it follows on, of which all is as it was but what was touched."""
    touched_models: frozenset[str] = field(default=frozenset(), compare=False)
    touched_keys: frozenset[str] = field(default=frozenset(), compare=False)
