"""Which quantized checkpoints vLLM has no method for, and which bits of GPTQ and AWQ.

Source: `QuantizationMethods` and the `TYPE_MAP`s of vLLM 0.25.1 to 0.33.0, checked 2026-11-30.
"""

from collections.abc import Mapping

from controlplane.domain.facts.existing_quantization import ExistingQuantization

_UNKNOWN = frozenset(
    {
        "aqlm", "awq-gemm", "bitnet", "bitblas", "deepspeedfp", "eetq", "exl2", "exl3", "fp-bnb",
        "gguf", "higgs", "hqq", "marlin", "neuron-quant", "ptpc-fp8", "qqq", "quanto", "quip",
        "quip-sharp", "spqr", "squeezellm", "tpu-int8", "vptq",
    }
)  # fmt: skip
"""Methods of other engines, and of versions before those that are known here."""
_GIVEN_UP: Mapping[str, str] = {"bitsandbytes": "0.28"}
"""Method -> the first version without it."""
_BITS: Mapping[str, tuple[int, ...]] = {"gptq": (4, 8), "gptqmodel": (4, 8), "awq": (4,)}


def lacks_method(existing: ExistingQuantization, version: str) -> bool:
    """Return whether this vLLM is known to have no method of that name."""
    method = _name(existing)
    if since := _GIVEN_UP.get(method):
        return _number(version) >= _number(since)
    return method in _UNKNOWN


def odd_bits(existing: ExistingQuantization) -> str | None:
    """Return what of a GPTQ or AWQ checkpoint no kernel takes, in words; None where all is well."""
    takes = _BITS.get(_name(existing))
    if takes is None:
        return None
    if existing.bits is not None and existing.bits not in takes:
        listed = " or ".join(map(str, takes))
        return f"has {existing.bits} bits a weight, and vLLM reads {listed}"
    if existing.is_symmetric is False and _name(existing) != "awq":
        return "keeps zero points (`sym: false`), and vLLM reads symmetric weights only"
    return None


def _name(existing: ExistingQuantization) -> str:
    return existing.method.lower().replace("_", "-")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
