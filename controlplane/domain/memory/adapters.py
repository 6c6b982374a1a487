"""Bytes of LoRA adapters that stay on the GPUs.

Each adapted matrix of `in x out` adds `rank * (in + out)` numbers in 16 bits, divided over ranks.
"""

from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.spec import Spec

_BYTES = 2


def adapter_bytes(spec: Spec, checkpoint: CheckpointFacts) -> int:
    """Return the bytes of all adapters of a config, before they are divided over ranks."""
    adapters = spec.engine_build.lora_adapters or {}
    if not adapters:
        return 0
    configuration = spec.engine_build.lora_configuration
    rank = configuration.max_lora_rank if configuration else 64
    targets = frozenset(configuration.lora_target_modules if configuration else ())
    return len(adapters) * max(rank, 0) * _widths(checkpoint, targets) * _BYTES


def _widths(checkpoint: CheckpointFacts, targets: frozenset[str]) -> int:
    """Return in + out over the adapted matrices; over all of them where none is named."""
    hidden, layers = checkpoint.hidden_size or 0, checkpoint.layers or 0
    head = checkpoint.head_dim or 0
    queries = (checkpoint.attention_heads or 0) * head
    keys = (checkpoint.kv_heads or 0) * head
    width = checkpoint.moe_intermediate_size or checkpoint.intermediate_size or 4 * hidden
    matrices = {
        "attn_q": hidden + queries, "attn_k": hidden + keys, "attn_v": hidden + keys,
        "attn_dense": queries + hidden, "mlp_h_to_4h": hidden + width,
        "mlp_gate": hidden + width, "mlp_4h_to_h": width + hidden,
    }  # fmt: skip
    named = [size for name, size in matrices.items() if name in targets]
    return layers * sum(named or matrices.values())
