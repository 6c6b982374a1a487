"""What one kind of layer keeps of a request, and how many layers are of that kind."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Mixer(StrEnum):
    """How a layer lets tokens see each other."""

    ATTENTION = "attention"
    SLIDING = "sliding_attention"
    LATENT = "latent_attention"
    LINEAR = "linear_attention"
    MAMBA = "mamba"
    CONVOLUTION = "convolution"
    RECURRENT = "recurrent"
    UNKNOWN = "unknown"
    """Named by a word that is not known here; it may keep as much as plain attention does."""
    NONE = "none"

    @property
    def attends(self) -> bool:
        """True where every token leaves keys and values behind."""
        return self in (Mixer.ATTENTION, Mixer.SLIDING, Mixer.LATENT, Mixer.UNKNOWN)


class LayerGroup(BaseModel):
    """Layers that keep the same. Numbers are elements, not bytes, except where named so."""

    model_config = ConfigDict(frozen=True)

    mixer: Mixer
    count: int = 1
    kv_heads: int = 0
    numbers_per_head: int = 0
    """Key and value of one token in one head; heads are divided over tensor parallel ranks."""
    latent_numbers: int = 0
    """Of one token; the same on every rank."""
    index_bytes: int = 0
    """Of one token, for the index of sparse attention; the same on every rank."""
    window: int | None = None
    """Tokens kept at most, or None where all are."""
    tokens_per_entry: int = 1
    """Tokens that are compressed into one entry of the cache."""
    state_bytes: int = 0
    """Of one request, however long it is; divided over tensor parallel ranks."""
