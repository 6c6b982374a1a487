"""Whether the scales of a quantized checkpoint are all there and are numbers to divide by."""

from collections.abc import Iterator

from workers.engine.errors import CheckpointRefused
from workers.engine.packed_integers import PER_WORD
from workers.engine.rounding import FP8_BLOCK, NVFP4_BLOCK
from workers.engine.scheme import Inputs, Number, Scheme
from workers.engine.stored_tensors import StoredTensors

_STORED_AS = {
    Number.FP8: "F8_E4M3", Number.FP8_BLOCKS: "F8_E4M3", Number.NVFP4: "U8", Number.INT4: "I32",
}  # fmt: skip
_WEIGHTS = {"weight": ("F8_E4M3", "U8"), "weight_packed": ("I32",)}
"""Name of a quantized weight -> what it may be stored as."""
_CACHE = ("k_scale", "v_scale")
_NUMBERS = ("weight_scale_2", "input_scale", *_CACHE)
"""One for a whole tensor."""
_OF_QUANTIZATION = ("scale", "scale_inv", "scale_2", "zero_point", "qzeros", "g_idx")


class Torn(CheckpointRefused):
    """Parts of a checkpoint that do not belong together."""

    def __init__(self, words: str) -> None:
        super().__init__(f"{words} Export the checkpoint again, or build from the original one.")


def check_scales(stored: StoredTensors, scheme: Scheme) -> frozenset[str]:
    """Return the quantized modules' names. Raises: `Torn` for the first wrong one."""
    quantized = frozenset(_quantized_modules(stored, scheme))
    if not quantized:
        raise Torn(
            f"The checkpoint calls itself quantized to {scheme.number} with {scheme.method}, and "
            "none of its weights is."
        )
    for module in sorted(quantized):
        for kind in _needed(scheme, module):
            if f"{module}.{kind}" not in stored:
                raise Torn(f"`{module}` is quantized and has no `{kind}`.")
        _check_shape(stored, module, scheme)
    for name in stored:
        _check_one(stored, name, quantized)
    return quantized


def _needed(scheme: Scheme, module: str) -> Iterator[str]:
    yield "weight_scale_inv" if scheme.number is Number.FP8_BLOCKS else "weight_scale"
    if scheme.number_of(module) is Number.NVFP4:
        yield "weight_scale_2"
    if scheme.inputs is Inputs.EXPORTED:
        yield "input_scale"


def _quantized_modules(stored: StoredTensors, scheme: Scheme) -> Iterator[str]:
    for name in stored:
        module, _, kind = name.rpartition(".")
        dtype, _ = stored.header(name)
        if dtype not in _WEIGHTS.get(kind, ()):
            continue
        number = scheme.number_of(module)
        if number is None:
            raise Torn(f"`{name}` is stored as {dtype}, and `quantized_layers` does not name it.")
        if dtype != _STORED_AS[number]:
            raise Torn(f"`{name}` is stored as {dtype}, and the checkpoint calls it {number}.")
        yield module


def _check_shape(stored: StoredTensors, module: str, scheme: Scheme) -> None:
    """Refuse scales that are not one number, one per row (FP8) or one per block."""
    number = scheme.number_of(module)
    if number is Number.FP8_BLOCKS:
        _check_blocks(stored, module)
        return
    _, shape = stored.header(f"{module}.weight_scale")
    if number is Number.INT4:
        _check_groups(stored, module, shape)
        return
    _, (rows, columns) = stored.header(f"{module}.weight")
    fitting = [(), (1,), (1, 1), (rows,), (rows, 1)]
    if number is Number.NVFP4:
        fitting = [(rows, columns * 2 // NVFP4_BLOCK)]  # two numbers a byte
    if shape not in fitting:
        raise Torn(
            f"`{module}.weight_scale` is {list(shape)}, which the native engine cannot apply to a "
            f"{number} weight stored as {[rows, columns]}."
        )


def _check_blocks(stored: StoredTensors, module: str) -> None:
    """Refuse scales that are not one for each block of rows and columns."""
    _, (rows, columns) = stored.header(f"{module}.weight")
    name = f"{module}.weight_scale_inv"
    if stored.header(name)[1] != (-(-rows // FP8_BLOCK), -(-columns // FP8_BLOCK)):
        raise Torn(
            f"`{name}` is {list(stored.header(name)[1])}, which is no scale for each {FP8_BLOCK} "
            f"rows and columns of {[rows, columns]}."
        )
    if columns % FP8_BLOCK:
        raise Torn(f"`{module}` has {columns} inputs, which blocks of {FP8_BLOCK} do not divide.")
    scale = stored[name].float()
    if not bool((scale.isfinite() & (scale > 0)).all()):
        raise Torn(f"`{name}` holds what is no scale.")


def _check_groups(stored: StoredTensors, module: str, stored_shape: tuple[int, ...]) -> None:
    """Refuse scales that are not one for each of equal parts of a row."""
    _, (rows, words) = stored.header(f"{module}.weight_packed")
    if (
        len(stored_shape) != 2
        or stored_shape[0] != rows
        or (words * PER_WORD) % max(stored_shape[1], 1)
    ):
        raise Torn(
            f"`{module}.weight_scale` is {list(stored_shape)}, which the native engine cannot "
            f"apply to {rows} rows of {words * PER_WORD} packed integers."
        )
    scale = stored[f"{module}.weight_scale"].float()
    if not bool((scale.isfinite() & (scale >= 0)).all()):
        raise Torn(f"`{module}.weight_scale` holds what is no scale.")
    shape = f"{module}.weight_shape"
    if shape in stored and stored[shape].tolist() != [rows, words * PER_WORD]:
        raise Torn(f"`{shape}` is {stored[shape].tolist()}, not {[rows, words * PER_WORD]}.")


def _check_one(stored: StoredTensors, name: str, quantized: frozenset[str]) -> None:
    module, _, kind = name.rpartition(".")
    is_known = kind in ("weight_scale", "weight_scale_inv") or kind in _NUMBERS
    if not is_known and kind.endswith(_OF_QUANTIZATION):
        raise Torn(f"The native engine does not know what `{name}` is for.")
    if is_known and module not in quantized and kind not in _CACHE:
        raise Torn(f"`{name}` belongs to no quantized layer.")
    if kind not in _NUMBERS:
        return
    scale = stored[name].float()
    if scale.numel() != 1:
        raise Torn(f"`{name}` holds {scale.numel()} numbers instead of one.")
    if not 0 < float(scale) < float("inf"):
        raise Torn(f"`{name}` is {float(scale)}, which is no scale.")
