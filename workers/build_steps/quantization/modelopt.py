"""The one place that imports NVIDIA ModelOpt, with its noise turned into log lines."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

with warnings.catch_warnings():
    # ModelOpt names an older Transformers than ours; the tests here are what vouches for the pair.
    warnings.simplefilter("ignore")
    import modelopt.torch.quantization as quantization
    from modelopt.torch.export import export_hf_checkpoint

presets: Any = quantization
"""Has the named configs as attributes."""
quantize: Any = quantization.quantize

log = logging.getLogger(__name__)

__all__ = ["export_hf_checkpoint", "logged_warnings", "presets", "quantize"]


@contextmanager
def logged_warnings() -> Iterator[list[str]]:
    """Collect the warnings of a block, log each once, and give the list."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield told
    for words in dict.fromkeys(str(each.message).strip() for each in caught):
        told.append(words)
        log.info("ModelOpt: %s", words)
