"""Whether a benchmark can be run as it was asked for; each refusal names the field and the way."""

from collections.abc import Sequence

from apps.accounts.models import Team
from apps.deployments.addresses import GONE, called_route
from apps.deployments.models import Deployment
from apps.rest.errors import Conflict, InvalidInput
from controlplane.domain.benchmarks.order import (
    LONGEST_SECONDS,
    MOST_CONCURRENCY,
    MOST_LEVELS,
    MOST_RATE,
    Lengths,
    Limits,
    Load,
    LoadKind,
)
from controlplane.domain.benchmarks.shapes import KIND_OF_ROUTE, SHAPES, Kind, Shape, shapes_for
from controlplane.domain.lifecycle import DeploymentState

MOST_DEPLOYMENTS = 2
_MOST_REQUESTS = 1_000_000
"""Of one level at a rate: each is remembered until its level ends."""


def checked_deployments(team: Team, ids: Sequence[str]) -> list[Deployment]:
    """Return the deployments in the order of their ids. Raises InvalidInput, or Conflict."""
    if not 0 < len(set(ids)) == len(ids) <= MOST_DEPLOYMENTS:
        raise InvalidInput("Name one deployment, or two different ones.", fields=["deployment_ids"])
    rows = Deployment.objects.filter(model__team=team, id__in=ids)
    by_id = {each.id: each for each in rows.select_related("model", "build__revision__config")}
    for id in ids:
        if id not in by_id:
            raise InvalidInput(
                f"The team has no deployment `{id[:40]}`.", fields=["deployment_ids"],
                hint="Give ids as `GET /v1/models/{model_id}/deployments` shows them.",
            )  # fmt: skip
        _refuse_resting(by_id[id])
    return [by_id[id] for id in ids]


def kind_of(deployment: Deployment) -> Kind:
    return KIND_OF_ROUTE[called_route(deployment)]


def checked_shape(deployments: Sequence[Deployment], name: str) -> Shape:
    """Return the shape. Raises InvalidInput where a deployment cannot be asked so."""
    shape = SHAPES[name]
    for deployment in deployments:
        kind = kind_of(deployment)
        if kind not in shape.kinds:
            fitting = ", ".join(f"`{each.name}`" for each in shapes_for(kind))
            raise InvalidInput(
                f"`{deployment.name}` is asked for {kind.value}, and `{name}` does not do that.",
                fields=["shape"], hint=f"Choose {fitting}.",
            )  # fmt: skip
    return shape


def checked_lengths(deployments: Sequence[Deployment], lengths: Lengths) -> Lengths:
    """Return the lengths. Raises InvalidInput where a deployment takes no request so long."""
    tokens = lengths.prompt_tokens + lengths.completion_tokens
    for deployment in deployments:
        build = (deployment.spec.get("trt_llm") or {}).get("build") or {}
        longest = build.get("max_seq_len")
        if longest and tokens > longest:
            raise InvalidInput(
                f"`{deployment.name}` takes {longest:,} tokens a request, and these have "
                f"{tokens:,}.",
                fields=["prompt_tokens", "completion_tokens"],
                hint="Ask for shorter prompts or answers, or for another shape.",
            )
    return lengths


def checked_load(load: Load, limits: Limits, *, deployments: int) -> Load:
    """Return the load. Raises InvalidInput."""
    most = MOST_CONCURRENCY if load.kind is LoadKind.CONCURRENCY else MOST_RATE
    for level in load.levels:
        is_whole = load.kind is LoadKind.RATE or level == int(level)
        if not (0 < level <= most and is_whole):
            _refuse_load(f"{level:g} is no number of {load.kind.unit} from 1 to {most:,g}.")
    if load.is_ramp and not (len(load.levels) == 2 and load.levels[0] < load.levels[1]):
        _refuse_load("A ramp has two levels: where it begins, and the most that it tries.")
    if load.is_ramp and not limits.is_any:
        raise InvalidInput("A ramp ends where a limit breaks, and there is none.",
                           fields=["limits"], hint="Set a limit, or name the levels.")  # fmt: skip
    if not 0 < len(load.levels) <= MOST_LEVELS:
        _refuse_load(f"Name 1 to {MOST_LEVELS} levels.")
    _refuse_long(load, deployments)
    return load


def _refuse_long(load: Load, deployments: int) -> None:
    planned = load.longest_seconds * deployments
    if planned > LONGEST_SECONDS:
        _refuse_load(
            f"This takes up to {planned / 60:.0f} minutes; {LONGEST_SECONDS // 60} are allowed."
        )
    most = max(load.levels) * (load.seconds + load.warm_up_seconds)
    if load.kind is LoadKind.RATE and most > _MOST_REQUESTS:
        _refuse_load(f"A level would have {most:,.0f} requests; {_MOST_REQUESTS:,} are allowed.")


def _refuse_load(sentence: str) -> None:
    raise InvalidInput(sentence, fields=["load"])


def _refuse_resting(deployment: Deployment) -> None:
    if deployment.state in GONE or deployment.state == DeploymentState.INACTIVE:
        raise Conflict(
            f"`{deployment.name}` is {deployment.state.replace('_', ' ')} and answers nothing.",
            hint="Activate it, or choose another deployment.",
        )
