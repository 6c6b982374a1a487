"""The memory plan as JSON, for the OpenAPI document; `MemoryPlan.to_json` writes it."""

from typing import Any

from rest_framework import serializers

from controlplane.domain.facts.engines import Engine


def _bytes(words: str, **options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(help_text=words, **options)


class RangeObject(serializers.Serializer[Any]):
    """A figure from the worst to the best case."""

    low = serializers.FloatField(help_text="The lower end.")
    high = serializers.FloatField(help_text="The upper end.")


class PlannedModelObject(serializers.Serializer[Any]):
    """The checkpoint as its files say."""

    architecture = serializers.CharField(
        allow_null=True, help_text="Its class; null where it names none."
    )
    parameters = serializers.IntegerField(
        allow_null=True, help_text="How many it has; null where nobody knows."
    )
    weight_bytes = _bytes("Its weights as they are stored.")
    kv_bytes_per_token = _bytes("Keys and values of a token in the model's own 16 bits.")


class PlannedGpuObject(serializers.Serializer[Any]):
    """What is on each GPU of a replica, in bytes."""

    device_bytes = _bytes("Its memory.")
    weights_bytes = _bytes("Weights.")
    kv_cache_bytes = _bytes("KV cache.")
    activations_bytes = _bytes("What a step computes with.")
    overhead_bytes = _bytes("The runtime itself, its graphs and its communication.")
    free_bytes = _bytes("What is left; negative where it is too small.")


class PlannedCapacityObject(serializers.Serializer[Any]):
    """How much a replica holds."""

    kv_tokens = serializers.IntegerField(help_text="Tokens that the KV cache holds.")
    full_length_requests = serializers.IntegerField(
        help_text="Requests of full length that fit at once."
    )
    binding = serializers.ChoiceField(
        choices=["weights", "activations", "kv_cache", "max_batch_size", "max_num_tokens"],
        help_text="The limit that is met first.",
    )
    sequence_tokens = serializers.IntegerField(help_text="Tokens of a request of full length.")
    devices = serializers.IntegerField(help_text="GPUs of a replica.")
    estimated = serializers.BooleanField(
        help_text="Whether the weights were counted from the shape and not read from the files."
    )
    verdict = serializers.ChoiceField(
        choices=["fits", "tight", "does_not_fit"],
        help_text="`tight`: it fits without the margin that runs have called for.",
    )
    safe_full_length_requests = serializers.IntegerField(
        help_text="The same to count on: less where runs fell short of plans."
    )
    requests_at_4096 = serializers.IntegerField(
        help_text="Requests of 4,096 tokens that fit at once, or of full length where that is less."
    )
    longest_sequence_tokens = serializers.IntegerField(
        help_text="The longest single request that fits."
    )


class PlannedWeightsObject(serializers.Serializer[Any]):
    """Where the size of the weights comes from."""

    source = serializers.ChoiceField(  # type: ignore[assignment]  # a name that DRF has too
        choices=["headers", "count"], help_text="Read from the files, or counted from the shape."
    )
    counted_bytes = _bytes(
        "As counted from the shape; null where that is not known.", allow_null=True
    )
    disagree = serializers.BooleanField(help_text="Whether files and shape differ too much.")
    loaded_bytes = _bytes("As the runtime holds them, over all GPUs.")
    adapters_bytes = _bytes("Adapters.")


class PlannedKvCacheObject(serializers.Serializer[Any]):
    """How the KV cache is counted."""

    element_bytes = serializers.FloatField(help_text="Bytes of one number in it.")
    bytes_per_token = _bytes(
        "Keys and values of a token, over all GPUs; layers of a kind that is not known count as "
        "plain attention."
    )
    least_bytes_per_token = _bytes("The same where such layers keep nothing.")
    unknown_layers = serializers.IntegerField(
        help_text="Layers of a kind that is not known here; 0 where the KV cache is exact."
    )
    request_state_bytes = _bytes("What a request takes whatever its length.")
    windows = serializers.ListField(
        child=serializers.IntegerField(), help_text="Tokens that sliding windows keep, by window."
    )
    draft_tokens = serializers.IntegerField(help_text="Tokens drafted a step, which need room.")


class PlannedLookaheadObject(serializers.Serializer[Any]):
    """What lookahead would bring."""

    asked = serializers.BooleanField(help_text="Whether the config asks for it.")
    draft_tokens = serializers.IntegerField(help_text="Tokens drafted a step.")
    assumed_tokens_per_step = serializers.FloatField(
        help_text="Tokens that a step is taken to bring, on edited code."
    )
    tokens_per_second = RangeObject(help_text="What one request then gets.")


class PlannedSpeedObject(serializers.Serializer[Any]):
    """How fast it can be, from data sheets and recorded steps."""

    basis = serializers.CharField(help_text="What the figures rest on.")
    step_floor_ms = serializers.FloatField(
        help_text="Milliseconds to read what a step of one request reads."
    )
    tokens_per_second = RangeObject(help_text="What one request gets.")
    batch = serializers.IntegerField(help_text="Requests that really run together.")
    batch_tokens_per_second = RangeObject(help_text="What they get together.")
    free_verification_tokens = serializers.IntegerField(
        help_text="Tokens of a step up to which computing hides behind reading."
    )
    free_verification_batch = serializers.IntegerField(
        help_text="The largest batch whose drafts are verified at no cost."
    )
    lookahead = PlannedLookaheadObject(help_text="What lookahead would bring.")


class PlannedEncoderSpeedObject(serializers.Serializer[Any]):
    """How many texts an encoder reads, from data sheets and recorded runs."""

    basis = serializers.CharField(help_text="What the figures rest on.")
    text_tokens = serializers.IntegerField(help_text="Tokens of each text.")
    texts_per_second = RangeObject(help_text="Texts that all requests get together.")


class PlannedEngineObject(serializers.Serializer[Any]):
    """Which of the hosted product's engines the checkpoint is for."""

    name = serializers.ChoiceField(
        choices=[each.value for each in Engine], help_text="The engine, as its pages name it."
    )
    reason = serializers.CharField(help_text="Why.")


class PlannedBuilderObject(serializers.Serializer[Any]):
    """What a build takes on GPUs."""

    verdict = serializers.ChoiceField(
        choices=["fits", "too_few_devices"], help_text="Whether the leased GPUs suffice."
    )
    gpus = serializers.IntegerField(help_text="GPUs that it needs.")
    leased_gpus = serializers.IntegerField(help_text="GPUs that it leases.")
    peak_bytes = _bytes(
        "Memory of one at its peak; null where nothing is quantized.", allow_null=True
    )
    host_memory_bytes = _bytes("Host memory.")
    minutes = RangeObject(help_text="How long it takes.")


class PlanObject(serializers.Serializer[Any]):
    """The memory plan; docs/memory_plan.md explains every figure."""

    model = PlannedModelObject(help_text="The checkpoint.")
    per_gpu = PlannedGpuObject(help_text="Each GPU of a replica.")
    capacity = PlannedCapacityObject(help_text="How much fits.")
    weights = PlannedWeightsObject(help_text="Where the size of the weights comes from.")
    kv_cache = PlannedKvCacheObject(help_text="How the KV cache is counted.")
    speed = PlannedSpeedObject(
        allow_null=True, help_text="How fast it can be; null where the GPU's data are not known."
    )
    encoder_speed = PlannedEncoderSpeedObject(
        allow_null=True,
        help_text="How many texts an encoder reads on a GPU; null for everything else.",
    )
    estimates = serializers.ListField(
        child=serializers.CharField(), help_text="What in the plan no run was held against."
    )
    engine = PlannedEngineObject(help_text="Which of the hosted product's engines it is for.")
    builder = PlannedBuilderObject(
        allow_null=True, help_text="What a build takes; null where it needs no GPU."
    )
