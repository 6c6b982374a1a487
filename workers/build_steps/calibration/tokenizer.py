"""A checkpoint's tokenizer, read alone: neither torch nor a weight is needed for it."""

from pathlib import Path
from typing import Any

import transformers

from controlplane.domain.failures.registry import quantization
from workers.build_steps.failures import StepFailure


def open_tokenizer(folder: Path) -> Any:
    """Return the tokenizer in a folder; raises StepFailure for one that cannot be read."""
    try:
        # Said aloud: left open, Transformers asks whoever is at a terminal.
        return transformers.AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    except MemoryError:
        raise
    except Exception as error:  # whatever a stranger's files come to
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise StepFailure.of(quantization.TOKENIZER, detail=reason) from error
