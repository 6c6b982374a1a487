"""The one place that imports NVIDIA ModelOpt, with its noise turned into log lines."""

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import yaml
from torch import Tensor

from workers.engine.rounding import NVFP4_BLOCK, round_to_nvfp4
from workers.imports import not_installed, solvers_on_call, without_compiler

_NO_COMPILER = "TORCHDYNAMO_DISABLE"


@contextmanager
def _at_less_cost() -> Iterator[None]:
    """Import in the block without torch's compiler, PEFT, pandas and SciPy; read YAML by libyaml.

    ModelOpt loads the compiler for PEFT's sake, and marks one function of a search that nothing
    here makes to be compiled; SciPy's solvers are for that search and for ways to calibrate that
    no type here has; and it reads some forty files of presets with PyYAML's slower loader.
    """
    loaders: Any = yaml
    before, in_python = os.environ.get(_NO_COMPILER), loaders.SafeLoader
    os.environ[_NO_COMPILER], loaders.SafeLoader = "1", loaders.CSafeLoader
    try:
        # Transformers 5.17 looks for scikit-learn then, which stands on the whole of SciPy.
        with ExitStack() as stack:
            for name in ("peft", "datasets", "sklearn"):
                stack.enter_context(not_installed(name))
            stack.enter_context(without_compiler())
            stack.enter_context(solvers_on_call())
            yield
    finally:
        loaders.SafeLoader = in_python
        if before is None:
            del os.environ[_NO_COMPILER]
        else:
            os.environ[_NO_COMPILER] = before


with warnings.catch_warnings(), _at_less_cost():
    # ModelOpt names an older Transformers than ours; the tests here are what vouches for the pair.
    warnings.simplefilter("ignore")
    import modelopt.torch.quantization as quantization
    import modelopt.torch.quantization.algorithms as algorithms
    import modelopt.torch.quantization.tensor_quant as tensor_quant
    from modelopt.torch.export import export_hf_checkpoint

presets: Any = quantization
"""Has the named configs as attributes."""
quantize: Any = quantization.quantize
auto_quantize: Any = quantization.auto_quantize

log = logging.getLogger(__name__)

__all__ = [
    "auto_quantize", "export_hf_checkpoint", "logged_warnings", "presets", "quantize",
    "searched_anywhere",
]  # fmt: skip
_FP4 = (4, 2, 8, 4)
"""Bits of a number and of a block's scale, and how many of each are its exponent."""
_FP4_LARGEST = 448.0 * 6.0


@contextmanager
def searched_anywhere() -> Iterator[None]:
    """Let ModelOpt round to FP4 on a CPU too, in the block, and show no bars of progress.

    Its own kernel is for CUDA; the rounding here is the one that the engine emulates a GPU with.
    """
    kernels: Any = tensor_quant
    loops: Any = algorithms
    on_cuda, bar = kernels.dynamic_block_quantize_op, loops.tqdm

    def rounded(inputs: Tensor, block: int, amax: Tensor, *bits: int) -> Tensor:
        if inputs.is_cuda or bits != _FP4 or block != NVFP4_BLOCK:
            quantized: Tensor = on_cuda(inputs, block, amax, *bits)
            return quantized
        return round_to_nvfp4(inputs, amax.amax() / _FP4_LARGEST)

    kernels.dynamic_block_quantize_op = rounded
    loops.tqdm = lambda rows, **_: rows
    try:
        yield
    finally:
        kernels.dynamic_block_quantize_op, loops.tqdm = on_cuda, bar


@contextmanager
def logged_warnings() -> Iterator[list[str]]:
    """Collect the warnings of a block, log each once, and give the list."""
    logged: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield logged
    for words in dict.fromkeys(str(each.message).strip() for each in caught):
        logged.append(words)
        log.info("ModelOpt: %s", words)
