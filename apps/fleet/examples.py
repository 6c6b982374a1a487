DEVICE = {
    "id": "x38u7zkd",
    "index": 0,
    "uuid": "GPU-2f7c1b7e-8f1a-4d52-9a55-6c0a3e1f5b21",
    "kind": "H100",
    "name": "NVIDIA H100 80GB HBM3",
    "memory_bytes": 85_899_345_920,
    "computes_bfloat16": False,
    "used_bytes": 74_088_185_856,
    "utilization_percent": 61.0,
    "is_present": True,
    "is_clean": True,
    "used_by": [
        {
            "pid": 48213,
            "name": "VLLM::EngineCor",
            "user": "enginehouse",
            "held_bytes": 73_400_320_000,
            "is_ours": True,
            "has_ended": False,
        }
    ],
    "pool": "research",
    "claimed_bytes": 85_899_345_920,
    "free_bytes": 0,
}
NODE = {
    "id": "8arfsumz",
    "name": "gpu-host-3",
    "status": "live",
    "cordoned": False,
    "draining_since": None,
    "labels": {"zone": "rack-4"},
    "runtimes": ["native", "vllm"],
    "runtime_versions": {"vllm": "0.25.1"},
    "address": "10.0.4.13",
    "pool": "default",
    "agent_version": "0.1.0",
    "host_memory_bytes": 549_755_813_888,
    "enrolled_at": "2026-11-02T09:14:31.482915Z",
    "last_heartbeat_at": "2026-11-27T16:40:02.117340Z",
    "clock_ahead_seconds": 0,
    "disk_free_bytes": 412_316_860_416,
    "devices": [DEVICE],
}
POOL = {
    "name": "research",
    "serves_all": False,
    "teams": [{"id": "k3v9d2xw", "name": "Search"}],
}
INSTANCE_TYPE = {
    "id": "H100-81920",
    "name": "H100 80 GiB",
    "memory_limit_mib": 524_288,
    "millicpu_limit": 96_000,
    "gpu_count": 1,
    "gpu_type": "H100",
    "gpu_memory_limit_mib": 81_920,
}
