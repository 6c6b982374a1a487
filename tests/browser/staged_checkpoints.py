"""The checkpoints of the stage, as if their files had been read."""

from typing import Any

from apps.accounts.models import Team
from apps.configs.models import CheckpointRecord, FactsState
from controlplane import clock
from controlplane.domain.facts import checkpoints

LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct"
SMOLLM = "HuggingFaceTB/SmolLM2-135M-Instruct"
LLAMA_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
SMOLLM_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
}


def know_checkpoint(
    team: Team,
    repo: str,
    config: dict[str, Any],
    *,
    weight_bytes: int,
    secret: str = "hf_access_token",
) -> None:
    """Store the facts of a checkpoint, as if they had been read a moment ago."""
    facts = checkpoints.read(
        config,
        files=["config.json", "model.safetensors", "tokenizer.json"],
        weight_bytes=weight_bytes,
        parameters=weight_bytes // 2,
        has_chat_template=True,
        commit="12fd25f77366fa6b3b4b768ec3050bf629380bac",
    )
    now = clock.now()
    CheckpointRecord.objects.create(
        team=team,
        source="HF",
        repo=repo,
        secret_name=secret,
        state=FactsState.READY,
        facts=facts.model_dump(mode="json"),
        commit=facts.commit or "",
        requested_at=now,
        fetched_at=now,
    )
