"""Words of vLLM's arguments that only some of its versions know.

Source: the `Literal` types of `config/`, `_VLLM_TOKENIZERS` of `tokenizers/registry.py` and
`AttentionBackendEnum` of `v1/attention/backends/registry.py`; vLLM 0.25.1 to 0.33.0, checked
2026-12-01.
"""

from collections.abc import Mapping
from types import MappingProxyType

_FIRST, _LAST = "0.25", "0.33"
_SINCE: Mapping[str, Mapping[str, str]] = {
    "all2all-backend": {"0.31": "moonep", "0.32": "passthrough"},
    "attention-backend": {
        "0.27": "cutlass_msa triton_msa",
        "0.28": "cpu_mla",
        "0.29": "amx_mla",
        "0.30": "b12x flashinfer_mla_sparse_dsv41 flashinfer_mla_sparse_sm90 "
        "flashmla_sparse_dsv41 triton_flashinfer triton_flash_attn",
        "0.31": "flashmla_mega_attn_dsv41",
        "0.32": "ultraquant",
        "0.33": "flash_attn_mla_sparse_fa4 step5_dsa",
    },
    "linear-backend": {"0.28": "b12x"},
    "moe-backend": {
        "0.27": "batched_triton",
        "0.29": "b12x flashinfer_moe_ep_mega_cutedsl flashinfer_moe_ep_mega_deep_gemm",
        "0.32": "flashinfer_moe_ep_cutedsl",
    },
    "tokenizer-mode": {
        "0.26": "inkling",
        "0.27": "cohere kimi_k3",
        "0.30": "deepseek_v41",
        "0.33": "alpamayo2_super",
    },
}
"""Argument -> first version -> the words that came with it."""
_UNTIL: Mapping[tuple[str, str], str] = {
    ("mamba-cache-mode", "all"): "0.31",
    ("moe-backend", "flashinfer_moe_ep_mega_cutedsl"): "0.31",
    ("tokenizer-mode", "slow"): "0.30",
}
_VERSIONS: Mapping[tuple[str, str], tuple[str, str]] = MappingProxyType(
    {
        **{key: (_FIRST, last) for key, last in _UNTIL.items()},
        **{
            (name, word): (since, _UNTIL.get((name, word), _LAST))
            for name, versions in _SINCE.items()
            for since, words in versions.items()
            for word in words.split()
        },
    }
)


def versions_of_word(name: str, word: str) -> tuple[str, str] | None:
    """Return the first and the last version with that word; None for one that all have."""
    return _VERSIONS.get((name, word.lower().replace("-", "_")))
