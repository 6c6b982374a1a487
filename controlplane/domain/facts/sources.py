"""Where a fact was read, and when."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Source:
    document: str
    section: str
    checked: str


def _seed(document: str, section: str) -> Source:
    return Source(document=document, section=section, checked="2026-11-27")


def quantization_guide(section: str) -> Source:
    return _seed("docs.baseten.co/engines/performance-concepts/quantization-guide", section)


def engine_builder_overview(section: str) -> Source:
    return _seed("docs.baseten.co/engines/engine-builder-llm/overview", section)


def lookahead_guide(section: str) -> Source:
    return _seed("docs.baseten.co/engines/engine-builder-llm/lookahead-decoding", section)


def engines_overview(section: str) -> Source:
    return _seed("docs.baseten.co/engines/overview", section)


def lora_guide(section: str) -> Source:
    return _seed("docs.baseten.co/engines/engine-builder-llm/lora-support", section)


def storage_guide(section: str) -> Source:
    return _seed(
        "docs.baseten.co/engines/performance-concepts/deployment-from-training-and-s3", section
    )


def bei_guide(section: str) -> Source:
    return _seed("docs.baseten.co/engines/bei", section)


def bis_guide(section: str) -> Source:
    return _seed("docs.baseten.co/engines/bis-llm", section)


def measured(section: str) -> Source:
    """Return a dated reference to numbers that others measured and published."""
    return _seed("published measurements", section)


def truss(section: str) -> Source:
    """Return a dated reference into the config parser of truss 0.18.36."""
    return _seed("truss 0.18.36, truss/base", section)


def yaml_language() -> Source:
    return _seed("yaml.org/spec/1.1", "Syntax")


def json_language() -> Source:
    return _seed("RFC 8259", "JSON grammar")


def tensorrt_llm(section: str) -> Source:
    return _seed("TensorRT-LLM 1.2", section)


def vllm(section: str, *, checked: str = "2026-11-28") -> Source:
    """Return a dated reference into vLLM 0.25 to 0.33."""
    return Source(document="vLLM 0.25 to 0.33", section=section, checked=checked)


def enginehouse(section: str) -> Source:
    return _seed("Enginehouse 0.1", section)
