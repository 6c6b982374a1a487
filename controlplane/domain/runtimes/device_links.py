"""Variables of a host that say how its GPUs reach each other."""

DEVICE_LINKS = (
    "NCCL_DEBUG", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
    "NCCL_SOCKET_IFNAME", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST", "VLLM_ALLREDUCE_USE_SYMM_MEM", "VLLM_SKIP_P2P_CHECK",
)  # fmt: skip
"""Only who runs the host knows them, so every process that computes on its GPUs sees them."""
