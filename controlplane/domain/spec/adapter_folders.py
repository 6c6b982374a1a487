"""Where an artifact keeps its LoRA adapters, beside the model's own files."""

ADAPTERS_FOLDER = "adapters"


def adapter_folder(model_dir: str, name: str) -> str:
    return f"{model_dir}/{ADAPTERS_FOLDER}/{name}"
