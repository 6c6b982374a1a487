"""The parts of a benchmark: what was asked, how far it is, and the figures of a level."""

from typing import Any

from rest_framework import serializers

from controlplane.domain.benchmarks.order import LoadKind

_KINDS = [each.value for each in LoadKind]


def _number(words: str) -> serializers.FloatField:
    return serializers.FloatField(
        allow_null=True, help_text=f"{words}; null where it is not known."
    )


def _text(words: str) -> serializers.CharField:
    return serializers.CharField(allow_null=True, help_text=f"{words}; null where it is not known.")


class BenchmarkLengthsObject(serializers.Serializer[Any]):
    """How long requests are where no samples say it."""

    prompt_tokens = serializers.IntegerField(help_text="Tokens of a prompt.")
    completion_tokens = serializers.IntegerField(help_text="Tokens of an answer; 0 for encoders.")
    shared_tokens = serializers.IntegerField(help_text="Tokens that all prompts begin with.")
    texts = serializers.IntegerField(help_text="Texts in one request.")
    is_code = serializers.BooleanField(help_text="Whether prompts are code.")


class BenchmarkLoadObject(serializers.Serializer[Any]):
    """How hard it was asked."""

    kind = serializers.ChoiceField(
        choices=_KINDS, help_text="`concurrency`: requests at a time; `rate`: requests a second."
    )
    levels = serializers.ListField(
        child=serializers.FloatField(), help_text="In their order; for a ramp its two ends."
    )
    is_ramp = serializers.BooleanField(help_text="Whether it looks for the highest level.")
    seconds = serializers.FloatField(help_text="Measured at each level.")
    warm_up_seconds = serializers.FloatField(help_text="Before that, and left out.")


class BenchmarkLimitsObject(serializers.Serializer[Any]):
    """What a level must keep; null for what does not matter."""

    error_share = serializers.FloatField(allow_null=True, help_text="Requests that may fail.")
    first_token_p90_seconds = serializers.FloatField(allow_null=True, help_text="To a token.")
    inter_token_p90_seconds = serializers.FloatField(allow_null=True, help_text="Between two.")
    end_to_end_p90_seconds = serializers.FloatField(allow_null=True, help_text="To the end.")


class BenchmarkOrderObject(serializers.Serializer[Any]):
    """What was asked for."""

    lengths = BenchmarkLengthsObject(allow_null=True, help_text="Null where samples say it.")
    load = BenchmarkLoadObject(help_text="How hard.")
    limits = BenchmarkLimitsObject(help_text="What to keep.")
    seed = serializers.IntegerField(help_text="Of its requests and their moments.")


class BenchmarkProgressObject(serializers.Serializer[Any]):
    """How far a run is; without fields before it has begun."""

    done_seconds = serializers.FloatField(required=False, help_text="Measured so far.")
    total_seconds = serializers.FloatField(required=False, help_text="By its plan.")
    words = serializers.CharField(
        required=False, allow_blank=True, help_text="What it is doing, in words."
    )


class BenchmarkMadeOfObject(serializers.Serializer[Any]):
    """What the deployment was made of while it was measured."""

    revision = _text("Config and revision, such as `qwen3-8b@4`")
    artifact_digest = _text("The artifact by its content")
    runtime = _text("The runtime")
    engine_version = _text("The version that its engine reports")
    quantization_type = _text("The quantization type")
    driver = _text("The GPU driver of its node")
    replicas = serializers.IntegerField(allow_null=True, help_text="Replicas that were ready.")
    gateways = serializers.IntegerField(allow_null=True, help_text="Gateways that were live.")
    devices = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Its GPUs, or the CPU."
    )


class BenchmarkPercentilesObject(serializers.Serializer[Any]):
    p50 = serializers.FloatField(help_text="Half took at most so many seconds.")
    p90 = serializers.FloatField(help_text="Nine of ten did.")
    p99 = serializers.FloatField(help_text="99 of 100 did.")


class BenchmarkStageObject(serializers.Serializer[Any]):
    """The figures of one level, as docs/benchmarks.md explains them."""

    load = serializers.ChoiceField(choices=_KINDS, help_text="What the level counts.")
    level = serializers.FloatField(help_text="How many of them.")
    is_partial = serializers.BooleanField(help_text="Whether it was not measured to its end.")
    seconds = serializers.FloatField(help_text="Measured.")
    requests = serializers.IntegerField(help_text="Answered well.")
    errors = serializers.IntegerField(  # type: ignore[assignment]
        help_text="Not answered, or answered with an error."
    )
    error_share = _number("Errors of all that ended, from 0 to 1")
    errors_by_reason = serializers.DictField(
        child=serializers.IntegerField(), help_text="The commonest eight."
    )
    warm_up_requests = serializers.IntegerField(help_text="Sent before, and left out.")
    requests_per_second = _number("Answered")
    texts_per_second = _number("Texts answered")
    prompt_tokens_per_second = _number("Read")
    completion_tokens_per_second = _number("Written")
    concurrency_mean = _number("Requests in flight on average")
    first_token_seconds = BenchmarkPercentilesObject(
        allow_null=True, help_text="To the first token."
    )
    inter_token_seconds = BenchmarkPercentilesObject(
        allow_null=True, help_text="Between two tokens."
    )
    end_to_end_seconds = BenchmarkPercentilesObject(allow_null=True, help_text="To the last byte.")
    prompt_tokens_mean = _number("Tokens of a prompt on average")
    completion_tokens_mean = _number("Tokens of an answer on average")
    send_delay_p99_seconds = _number("How late the client sent")
    client_cpu_share = _number("Of one core, by the client")
    is_client_limited = serializers.BooleanField(
        help_text="Whether the client was so busy that figures may be too low."
    )
    broken_limits = serializers.ListField(
        child=serializers.CharField(), help_text="What it did not keep, in words."
    )
    throughput = serializers.FloatField(help_text="In `unit`.")
    unit = serializers.ChoiceField(
        choices=["tokens/s", "texts/s"], help_text="Texts where no tokens are written."
    )
    cost_per_million_tokens = _number("At the prices of its GPUs")


class BenchmarkPlannedObject(serializers.Serializer[Any]):
    """One figure of a replica, as planned and as it was."""

    figure = serializers.ChoiceField(choices=["tokens_per_second", "kv_tokens"], help_text="Which.")
    concurrency = serializers.IntegerField(
        allow_null=True, help_text="Requests at a time; null where it does not depend on them."
    )
    planned_low = serializers.FloatField(help_text="The plan's lower end.")
    planned_high = serializers.FloatField(help_text="Its upper end.")
    measured = serializers.FloatField(help_text="As it was.")
    difference_ratio = serializers.FloatField(
        help_text="How far beyond the nearer end, as a part of that; 0 within."
    )
