"""What a checkpoint folder must hold before anything of it is loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.domain.facts.config_numbers import layerless
from controlplane.domain.json_text import read_json
from workers.engine.errors import CheckpointRefused

_UNFIT = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError,
)  # fmt: skip


def read_config(folder: Path) -> dict[str, Any]:
    """Give back config.json. Raises: `CheckpointRefused`."""
    path = folder / "config.json"
    try:
        config = read_json(path.read_text())
    except FileNotFoundError:
        raise CheckpointRefused(f"`{folder}` has no config.json: it is no checkpoint.") from None
    except ValueError as error:
        raise CheckpointRefused(f"`{path}` is not JSON: {error}.") from None
    if layers := layerless(config):
        raise CheckpointRefused(
            f"`{layers[0]}` is {layers[1]} in `{path}`: a model without layers. Use a revision in "
            "which config.json and weights belong together."
        )
    return config


@contextmanager
def refusing_config(folder: Path, model_class: Any, file: str = "config.json") -> Iterator[None]:
    """Blame a file for what a class breaks at that is made of it. Raises: `CheckpointRefused`.

    What a machine breaks at (memory, files, GPUs) passes as it is.
    """
    try:
        yield
    except _UNFIT as error:
        raise unfit(folder / file, model_class, error) from error


def unfit(file: Path, model_class: Any, error: Exception) -> CheckpointRefused:
    return CheckpointRefused(
        f"`{model_class.__name__}` cannot be made of `{file}`: {type(error).__name__}: {error}"
    )


def refuse_pickles(folder: Path) -> None:
    """Let a folder with safetensors pass. Raises: `CheckpointRefused` that names what it holds."""
    if any(folder.glob("*.safetensors")):
        return
    if blocks := sorted(path.name for path in folder.glob("*.gguf")):
        raise CheckpointRefused(
            f"`{folder}` holds {', '.join(blocks)}: the native engine does not read GGUF's blocks. "
            "Build from the original checkpoint in safetensors."
        )
    pickles = sorted(path.name for path in (*folder.glob("*.bin"), *folder.glob("*.pt*")))
    reason = f"only {', '.join(pickles)}, and a pickle can run code" if pickles else "no weights"
    raise CheckpointRefused(f"`{folder}` holds {reason}; convert the weights to safetensors.")
