from controlplane.domain.facts.checkpoints import CheckpointFacts
from controlplane.domain.memory.memory_plan import UnplannableError


def unplannable(checkpoint: CheckpointFacts) -> UnplannableError:
    facts = {
        "layers": checkpoint.layers,
        "KV heads": checkpoint.kv_heads,
        "head size": checkpoint.head_dim,
        "weight bytes": checkpoint.stored_weight_bytes,
    }
    names = ", ".join(name for name, value in facts.items() if value is None)
    return UnplannableError(f"the checkpoint does not say: {names or 'its shape'}")
