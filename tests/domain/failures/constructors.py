"""Calls every function that makes a failure, with values made of what its parameters ask for."""

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

from controlplane.artifacts.bucket.address import Address
from controlplane.artifacts.failures import ArtifactFailure
from controlplane.domain.failures import Blame, Failure
from controlplane.domain.failures.kind import FailureKind
from controlplane.domain.remote_code import CodeGrants, LiveGrant, RevokedGrant
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.sources import bucket_words, hub_failures
from controlplane.sources.failures import SourceFailure
from workers.build_steps.failures import StepFailure
from workers.build_steps.options import PushOrder
from workers.runtimes.container.failures import ContainerRefused

MODULES = (
    "apps.deployments.failures",
    "controlplane.artifacts.bucket.failures",
    "controlplane.artifacts.failures",
    "controlplane.sources.archive_failures",
    "controlplane.sources.bucket_failures",
    "controlplane.sources.failures",
    "controlplane.sources.hub_failures",
    "workers.agent.failures",
    "workers.build_steps.calibration.failures",
    "workers.build_steps.failures",
    "workers.build_steps.gating.failures",
    "workers.build_steps.quantization.failures",
    "workers.build_steps.remote_code_failures",
    "workers.build_steps.weights.failures",
    "workers.runtimes.container.failures",
)
EXCEPTIONS = (ArtifactFailure, ContainerRefused, SourceFailure, StepFailure)
MADE = (Failure, *EXCEPTIONS)
BY_VALUES = {"explain"}
"""They are given what others make."""
FOR_KINDS = {
    "archive_failure",
    "bucket_failure",
    "failed",
    "hub_failure",
    "setup_failure",
    "source_failure",
}
"""They give a kind the values that all of its source have."""


def repository(source: str, repo: str, revision: str | None = None) -> CheckpointRepository:
    return CheckpointRepository.model_construct(
        source=CheckpointSource(source), repo=repo, revision=revision, runtime_secret_name="token"
    )


HUB = repository("HF", "org/model", "v9")
BUCKETS = [repository("S3", "s3://bucket/x"), repository("AZURE", "az://container/x")]
BY_NAME: Mapping[str, Sequence[Any]] = {
    "examination": [
        {"findings": [{"severity": "error", "code": "EH1", "message": "m", "fields": ["a.b"],
                       "fix": {"patch": {"a.b": 1}}}], "waiting": []},
        {"findings": [], "waiting": []},
    ],
    "grants": [
        CodeGrants(),
        CodeGrants(live=[LiveGrant(commit="d" * 40, by="a", at="2026-01-02")]),
        CodeGrants(revoked=[RevokedGrant(commit="c" * 40, revoked_by="a", revoked_at="2026-01-02",
                                         revoke_reason="why")]),
    ],
    "commit": ["c" * 40],
    "counts": [{"a": 1}, {"a": 2000, "b": 3}],
    "closed": [{}, {"node": "cordoned"}],
    "refusals": [[], [SimpleNamespace(is_used_by_others=False)],
                 [SimpleNamespace(is_used_by_others=True)]],
    "record": [
        {"phase": "lock", "detail": "x"},
        {"phase": "engine", "detail": "no such file"},
        {"phase": "engine", "detail": "", "signal": "SIGKILL"},
        {"phase": "prepare", "detail": "", "signal": "SIGTERM"},
        {"phase": "engine", "detail": "", "signal": None, "exit_code": 3},
    ],
    "wrong": [[("a.b", [1, 2], [3, 4])]],
    "node": [SimpleNamespace(name="n", address="10.0.0.1", lowest_engine_port=1,
                             highest_engine_port=9)],
    "error": [PermissionError(13, "Permission denied", "/srv/a")],
    "users": [[]],
}  # fmt: skip
BY_TYPE: Mapping[Any, Sequence[Any]] = {
    str: ["text"],
    int: [123_456_789],
    float: [0.1234567],
    bool: [False, True],
    object: [[1, 2]],
    type(None): [None],
    CheckpointRepository: [*BUCKETS, HUB],
    hub_failures.Lookup: [
        hub_failures.Lookup(checkpoint=HUB, endpoint="https://hub", has_token=has_token)
        for has_token in (False, True)
    ],
    bucket_words.Lookup: [
        bucket_words.Lookup(checkpoint=each, place="https://store", has_secret=has_secret)
        for each, has_secret in product(BUCKETS, (False, True))
    ],
    PushOrder: [SimpleNamespace(destination="hf://org/model", secret_name="token")],
    Address: [
        SimpleNamespace(url="s3://b/p", endpoint="https://s3", bucket="b", region="r", is_own=own)
        for own in (False, True)
    ],
}


def constructors() -> list[Callable[..., Any]]:
    return [
        each
        for name in MODULES
        for each in vars(import_module(name)).values()
        if inspect.isfunction(each)
        and each.__module__ == name
        and typing.get_type_hints(each, vars(import_module(name)) | {"Address": Address}).get(
            "return"
        )
        in MADE
        and not each.__name__.startswith("_")
        and each.__name__ not in BY_VALUES | FOR_KINDS
    ]


def failures_of(constructor: Callable[..., Any]) -> Iterator[Failure]:
    """Return what the constructor makes of each mixture of values."""
    hints = _hints(constructor)
    names = [name for name in hints if name != "return"]
    is_bucket = constructor.__module__.endswith("bucket_failures")
    for values in product(*(_values(name, hints[name], is_bucket=is_bucket) for name in names)):
        made = constructor(**dict(zip(names, values, strict=True)))
        yield made if isinstance(made, Failure) else made.failure


def names_given_by(helper: Callable[..., Any]) -> set[str]:
    """Return the values that a helper for kinds gives each of them by itself."""
    given: set[str] = set()
    kind = _Listening(code="EHX-X", blame=Blame.OURS, sentence="", hint="", heard=given)
    hints = {
        name: hint
        for name, hint in _hints(helper).items()
        if name not in ("kind", "values", "return")
    }
    is_bucket = helper.__module__.endswith("bucket_failures")
    helper(
        kind,
        **{name: _values(name, hint, is_bucket=is_bucket)[0] for name, hint in hints.items()},
    )
    return given


@dataclass(frozen=True, kw_only=True)
class _Listening(FailureKind):
    heard: set[str]

    def failure(self, **values: Any) -> Failure:
        self.heard.update(values)
        return super().failure(**values)


def _hints(constructor: Callable[..., Any]) -> dict[str, Any]:
    return typing.get_type_hints(constructor, constructor.__globals__ | {"Address": Address})


def _values(name: str, hint: Any, *, is_bucket: bool) -> Sequence[Any]:
    if name in BY_NAME:
        return BY_NAME[name]
    if is_bucket and hint is CheckpointRepository:
        return BUCKETS
    if hint in BY_TYPE:
        return BY_TYPE[hint]
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (Sequence, tuple):
        return [[_values("", arguments[0], is_bucket=is_bucket)[0]] * 10]
    return [value for each in arguments for value in _values("", each, is_bucket=is_bucket)]
