from pathlib import Path
from typing import Any

import torch
import transformers

from workers.engine.checkpoint_folder import unfit
from workers.engine.errors import CheckpointRefused


def class_of(folder: Path, architecture: str) -> Any:
    """Give back Transformers' class, if it can be made of config.json.

    It is made without memory, so that nothing but the config can be what it breaks at. Raises:
    `CheckpointRefused`.
    """
    model_class = getattr(transformers, architecture, None)
    if model_class is None:
        raise CheckpointRefused(
            f"Transformers {transformers.__version__} has no class `{architecture}`; a later one "
            "may. Install it in the engine's Python."
        )
    try:
        with torch.device("meta"):
            model_class(_config_of(folder))
    except (ImportError, MemoryError, OSError):
        raise
    except Exception as error:
        raise unfit(folder / "config.json", model_class, error) from error
    return model_class


def _config_of(folder: Path) -> Any:
    return transformers.AutoConfig.from_pretrained(
        folder, trust_remote_code=False, local_files_only=True
    )
