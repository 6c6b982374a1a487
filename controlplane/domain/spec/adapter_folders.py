"""Where an artifact keeps its LoRA adapters, beside the model's own files."""

ADAPTERS_FOLDER = "adapters"


def adapter_folder(model_dir: str, name: str) -> str:
    """Return the folder of one adapter of the artifact in `model_dir`."""
    return f"{model_dir}/{ADAPTERS_FOLDER}/{name}"
