"""What gateways say of the samples that they hold, and what they are ordered to replay."""

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponseBase, JsonResponse
from pydantic import Field

from apps.configs.lookahead_tunings.gathering import figures_tell, orders_for
from apps.configs.traffic_samples.services import Held, held_tell
from apps.fleet.internal_authentication import calling_gateway
from apps.rest.internal import internal_view, read_body
from apps.rest.machine_bodies import Count, MachineBody, SmallCount

Id = Annotated[str, Field(pattern=r"^[0-9A-Za-z]{1,16}$")]
_LAST_MOMENT = 10_000_000_000.0
"""In the year 2286."""


class HeldBody(MachineBody):
    consent_id: Id
    model_id: Id
    samples: SmallCount
    size_bytes: Count
    oldest_at: float = Field(ge=0, le=_LAST_MOMENT, allow_inf_nan=False)


class SettingBody(MachineBody):
    manner: Literal["off", "by_match", "filled", "suffix"]
    longest_draft_tokens: int = Field(ge=0, le=4096)
    draft_factor: int = Field(ge=1, le=1024)


class CountedBody(MachineBody):
    setting: SettingBody
    tokens: SmallCount
    steps: SmallCount
    drafted_steps: SmallCount
    drafted_tokens: Count
    accepted_at: list[SmallCount] = Field(max_length=4096)


class FiguresBody(MachineBody):
    answers: SmallCount
    prompt_tokens: Count
    answer_tokens: Count
    counted: list[CountedBody] = Field(max_length=64)


class NoFiguresBody(MachineBody):
    failure: Literal["no_numba", "slow", "failed"]


class SamplesBody(MachineBody):
    samples: list[HeldBody] = Field(max_length=10_000)
    figures: dict[Id, FiguresBody | NoFiguresBody] = Field(default_factory=dict, max_length=64)


@internal_view("POST")
def gateways_samples(request: HttpRequest) -> HttpResponseBase:
    """Keep how many samples a gateway holds and what it found in them; return what it is to do."""
    gateway = calling_gateway(request)
    body = read_body(request, SamplesBody)
    held_tell(gateway_id=gateway.id, samples=[Held(**each.model_dump()) for each in body.samples])
    for tuning_id, figures in body.figures.items():
        figures_tell(gateway_id=gateway.id, tuning_id=tuning_id, figures=figures.model_dump())
    return JsonResponse({"orders": orders_for(gateway.id)})
