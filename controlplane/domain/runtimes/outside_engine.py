"""Settings that no GPU engine is told, and who reads them instead."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.domain.commands.command_writer import CommandWriter
from controlplane.domain.spec.spec import Spec

_PEOPLE = "It describes the model to people and tools; an engine is told its served name alone."
_CONTAINER = "It shapes the hosted product's container; no code or image of a config runs here."
_FILES = "It is carried along; the build fetches nothing but `checkpoint_repository`."
_BUILD = "The build reads it; the engine serves its artifact."
_LEASE = "The deployment leases GPUs, cores and memory; the engine takes what it is given."

OUTSIDE: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("description", "model_metadata", "spec_version", "input_type", "model_framework",
             "model_type", "examples_filename", "data_dir"), _PEOPLE),
        **dict.fromkeys(
            ("runtime", "build", "build_commands", "base_image", "python_version",
             "requirements_file", "requirements", "system_packages", "docker_server",
             "external_package_dirs", "model_module_dir", "model_class_filename",
             "model_class_name", "bundled_packages_dir", "use_local_src", "live_reload",
             "apply_library_patches", "bis_llm"), _CONTAINER),
        **dict.fromkeys(
            ("model_cache", "weights", "bdn", "training_checkpoints", "external_data",
             "cache_internal"), _FILES),
        "model_name": _PEOPLE,
        "resources": _LEASE,
        "secrets": "The build fetches the checkpoint with it; the engine reads local files alone.",
        "environment_variables": "It is carried along; variables of a config reach no engine.",
        "enginehouse.dtype": "Only the native engine is told; others take the checkpoint's own.",
        "enginehouse.generic_tools": "Only the native engine has a tool prompt of its own.",
        "enginehouse.undrafted_share": "Only the native engine has it: vLLM gives a proposer "
        "tokens, not the requests that they are of.",
        "enginehouse.rerank_template": "Only the native engine asks a language model to rank.",
        "enginehouse.shared_prefixes": "The gateway salts what an engine caches.",
        "enginehouse.extra_routes": "The gateway says which routes clients may call.",
        "enginehouse.vllm_args": "Only vLLM has these arguments.",
        "enginehouse": "It steers builds and placement, not the engine.",
        "trt_llm.inference_stack": "It chooses the fields of the config.",
        "trt_llm.version_overrides": "Versions of the hosted product's images have no effect.",
        **dict.fromkeys(
            (f"trt_llm.build.{name}" for name in
             ("quantization_type", "quantization_config", "num_builder_gpus",
              "skip_build_result")), _BUILD),
        **dict.fromkeys(
            (f"trt_llm.build.{name}" for name in
             ("max_prompt_embedding_table_size", "gather_all_token_logits", "strongly_typed",
              "plugin_configuration")),
            "It was read when an engine was compiled, and no engine is compiled any more.",
        ),
        "trt_llm.build.max_beam_width": "One beam is all that a config may ask for.",
        "trt_llm.build.speculator": "It drafts nothing: neither three sizes nor a length.",
        "trt_llm.runtime.total_token_limit": "The gateway admits requests, not the engine.",
        "trt_llm.runtime.webserver_default_route": "The gateway routes requests, not the engine.",
    }
)  # fmt: skip
"""Dotted path, or the beginning of one -> the reason."""


def account(spec: Spec, of_runtime: Mapping[str, str]) -> CommandWriter:
    return CommandWriter(spec, {**OUTSIDE, **of_runtime})
