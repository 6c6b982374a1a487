"""What of a `quantization_config` engines refuse, each in words that follow "The checkpoint"."""

from pydantic import BaseModel, ConfigDict


class UnreadBlock(BaseModel):
    """What engines refuse of a block."""

    model_config = ConfigDict(frozen=True)

    always: str | None = None
    until: str | None = None
    """Refused by versions of vLLM before `since`."""
    since: str | None = None
    of_experts: str | None = None
    """Refused where the model has experts."""
    over_ranks: str | None = None
    """Refused where ranks divide the weights."""
    by_trtllm: str | None = None
    """Refused by TensorRT-LLM, whatever vLLM makes of it; the others are vLLM's."""
