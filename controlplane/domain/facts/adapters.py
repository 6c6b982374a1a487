from pydantic import BaseModel, ConfigDict

from controlplane.domain.facts import config_numbers as numbers
from controlplane.domain.facts.config_numbers import Config


class AdapterFacts(BaseModel):
    """The numbers of one adapter. None means that the file does not say."""

    model_config = ConfigDict(frozen=True)

    kind: str | None = None
    """`LORA`, or another method that no engine here takes."""
    rank: int | None = None
    target_modules: tuple[str, ...] = ()
    base_model: str | None = None


def read_adapter(config: Config | None) -> AdapterFacts | None:
    if not config or "peft_type" not in config:
        return None
    targets = config.get("target_modules")
    listed = targets if isinstance(targets, list | tuple) else [targets] if targets else []
    return AdapterFacts(
        kind=_text(config.get("peft_type")),
        rank=numbers.whole(config.get("r")),
        target_modules=tuple(sorted(str(name) for name in listed)),
        base_model=_text(config.get("base_model_name_or_path")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
