"""Which charts a deployment's page has, in their order, and what each draws."""

from collections.abc import Sequence
from dataclasses import dataclass

_PERCENTILES = "p50,p90,p99"


@dataclass(frozen=True, kw_only=True)
class Chart:
    name: str
    title: str
    note: str
    """Who measured what."""
    series: str
    """With commas between, as `labels`."""
    labels: str
    unit: str = ""
    starts: str
    """When there is something to see."""


def _percentiles(name: str, series: str, title: str, note: str, starts: str) -> Chart:
    names = ",".join(f"{series}_{each}" for each in _PERCENTILES.split(","))
    return Chart(
        name=name, title=title, note=note, series=names, labels=_PERCENTILES, unit="s",
        starts=starts,
    )  # fmt: skip


_OF_TEXT = (
    _percentiles(
        "first-token", "first_token", "Time to first token", "gateway, streamed requests",
        "the first streamed request",
    ),
    _percentiles(
        "inter-token", "inter_token", "Time between tokens", "gateway, mean of each answer",
        "the first streamed request",
    ),
)  # fmt: skip
_OF_REQUESTS = (
    _percentiles("end-to-end", "end_to_end", "End to end", "gateway", "the first request"),
    _percentiles(
        "queue", "queue", "Queue", "gateway, until sent to a replica", "the first request"
    ),
    Chart(
        name="tokens", title="Tokens per second", note="gateway", series="tokens,prompt_tokens",
        labels="Out,In", starts="the first request",
    ),
    Chart(
        name="requests", title="Requests per second", note="gateway", series="requests,errors",
        labels="All,5xx", starts="the first request",
    ),
    Chart(
        name="in-engines", title="Requests in engines", note="engines, all replicas",
        series="running,waiting", labels="Running,Waiting", starts="an engine first reports them",
    ),
)  # fmt: skip
_OF_KV = (
    Chart(
        name="kv-used", title="KV cache used", note="engine, fullest replica", series="kv_used",
        labels="Used", unit="%", starts="the engine first reports it",
    ),
)  # fmt: skip
_OF_PROMPT_CACHE = (
    Chart(
        name="cached", title="Prompt cache hits", note="engines, share of tokens looked up",
        series="cached", labels="Found", unit="%", starts="an engine first looks a prompt up",
    ),
)  # fmt: skip
_OF_DRAFTS = (
    Chart(
        name="accepted", title="Accepted draft tokens", note="engine, share of those verified",
        series="accepted", labels="Accepted", unit="%", starts="the first guess",
    ),
    Chart(
        name="tokens-per-step", title="Tokens a step", note="engine, of one request",
        series="tokens_per_step", labels="Tokens", starts="the first guess",
    ),
)  # fmt: skip
_OF_GPUS = (
    Chart(
        name="gpu-used", title="GPU utilization", note="NVML, mean of its GPUs", series="gpu_used",
        labels="Used", unit="%", starts="a replica has a GPU of its own",
    ),
)  # fmt: skip
_OF_REPLICAS = (
    Chart(
        name="load", title="Requests in flight", note="gateways, running and waiting",
        series="in_flight,target", labels="In flight,Target of the wanted replicas",
        starts="a gateway first reports them",
    ),
    Chart(
        name="replicas", title="Replicas", note="control plane", series="ready,wanted",
        labels="Ready,Wanted", starts="it is wanted",
    ),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Measures:
    makes_text: bool
    has_drafts: bool
    """Whether its engines guess ahead."""
    looks_prompts_up: bool
    """Whether its engines have looked a prompt up in their cache."""
    has_gpus: bool


def chart_panels(of: Measures) -> Sequence[Chart]:
    text, kv = (_OF_TEXT, _OF_KV) if of.makes_text else ((), ())
    cache = _OF_PROMPT_CACHE if of.makes_text and of.looks_prompts_up else ()
    drafts = _OF_DRAFTS if of.has_drafts else ()
    gpus = _OF_GPUS if of.has_gpus else ()
    return (*text, *_OF_REQUESTS, *kv, *cache, *drafts, *gpus, *_OF_REPLICAS)


def missing_charts(of: Measures) -> Sequence[str]:
    missing = []
    if of.makes_text and not of.looks_prompts_up:
        missing.append(f"{_OF_PROMPT_CACHE[0].title}: no engine of it has looked a prompt up")
    if not of.has_gpus:
        missing.append(f"{_OF_GPUS[0].title}: it runs on a CPU")
    return missing
