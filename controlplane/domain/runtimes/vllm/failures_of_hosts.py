"""vLLM's complaints about the host: GPUs, compilers, shared memory, libraries."""

from controlplane.domain.failures import Blame, fields
from controlplane.domain.failures.pattern import log_pattern
from controlplane.domain.runtimes.engine_log import TOKENS, half

_V = "vllm-project/vllm"
_CONFIG, _MACHINE, _OURS = Blame.CONFIGURATION, Blame.MACHINE, Blame.OURS

PATTERNS = (
    log_pattern(
        "EVL-HOST-MEMORY", _MACHINE,
        r"node running low on memory|ray\.exceptions\.OutOfMemoryError",
        "The host's memory, not the GPU's, ran out under the engine's processes.",
        "Free memory on this host, or use one with more: each GPU has a process that loads.",
        text="ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on "
        "memory.",
        source=f"{_V}#322, 2023-07-04",
    ),
    log_pattern(
        "EVL-NO-COMPILER", _MACHINE, r"Failed to find C compiler",
        "Triton compiles a little C at the first start, and this host has no C compiler.",
        "Install one (`apt-get install build-essential`), or use vLLM's image.",
        text="RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
        source=f"{_V}#2997",
    ),
    log_pattern(
        "EVL-PYTHON-HEADERS", _MACHINE, r"fatal error: Python\.h: No such file or directory",
        "Triton compiles against Python's headers, which this host lacks.",
        "Install them (`apt-get install python3-dev`, of the same version), or use vLLM's image.",
        text="main.c:5:10: fatal error: Python.h: No such file or directory",
        source=f"{_V}#15329, 2025-03-22",
    ),
    log_pattern(
        "EVL-NINJA", _MACHINE,
        r"Ninja is required to load C\+\+ extensions|No such file or directory: 'ninja'",
        "FlashInfer compiles kernels at the first start, and `ninja` is not installed.",
        "Install it beside vLLM (`pip install ninja`), or use vLLM's image.",
        text="FileNotFoundError: [Errno 2] No such file or directory: 'ninja'",
        source="flashinfer 0.6, jit/cpp_ext.py",
    ),
    log_pattern(
        "EVL-KERNEL-BUILD", _MACHINE, r"Ninja build failed",
        "FlashInfer could not compile its kernels on this host; the compiler's words stand below.",
        "Use a CUDA toolkit of the version that torch was built with, or vLLM's image.",
        text="RuntimeError: Ninja build failed. Ninja output:",
        source=f"{_V}#22008, 2025-08-01",
    ),
    log_pattern(
        "EVL-DEVICE-NUMBER", _MACHINE, r"CUDA error: invalid device ordinal",
        "The engine asked for a GPU that it cannot see: more ranks than GPUs are given to it.",
        "Ask for as many GPUs in resources.accelerator as ranks, and let nobody hide them.",
        text="RuntimeError: CUDA error: invalid device ordinal",
        source=f"{_V}#1016, 2023-09-11", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-DEVICE-TWICE", _MACHINE,
        r"Duplicate GPU detected ?: rank (?P<first>\d+) and rank (?P<second>\d+)",
        "Ranks {first} and {second} were given the same GPU.",
        "Leave CUDA_VISIBLE_DEVICES out of the environment: the agent sets it.",
        text="ncclInvalidUsage: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device "
        "56000",
        source=f"{_V}#22677, 2025-08-11",
    ),
    log_pattern(
        "EVL-RAY-DEVICES", _MACHINE,
        r"The number of required (?:GPUs|\w+) exceeds the total number of available|"
        r"Current node has no GPU available",
        "Ray has fewer free GPUs than the replica needs.",
        "Free GPUs, or ask for fewer in resources.accelerator.",
        text="ValueError: The number of required GPUs exceeds the total number of available GPUs "
        "in the placement group.",
        source=f"{_V}#16646, 2025-04-15", field=fields.ACCELERATOR,
    ),
    log_pattern(
        "EVL-SHARED-MEMORY", _MACHINE,
        r"Bus error(?: \(core dumped\))?|insufficient shared memory|"
        r"unable to allocate shared memory",
        "The engine's processes share memory under /dev/shm, and it is too small.",
        "Give the container more (`--ipc=host` or `--shm-size 16g`).",
        text="Bus error (core dumped)",
        source=f"{_V}#6689, 2024-07-29",
    ),
    log_pattern(
        "EVL-FORK", _OURS, r"Cannot re-initialize CUDA in forked subprocess",
        "A process of the engine was forked after the GPU had been touched.",
        "Set VLLM_WORKER_MULTIPROC_METHOD=spawn for the agent.",
        text="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
        "multiprocessing, you must use the 'spawn' start method",
        source="QwenLM/Qwen3-VL#236, 2024-09-20",
    ),
    log_pattern(
        "EVL-LIBRARY", _MACHINE,
        r"ImportError: (?P<name>lib[\w.+-]+): cannot open shared object file",
        "The library `{name}` is not on this host.",
        "Install the CUDA that this vLLM was built for, or use vLLM's image.",
        text="ImportError: libcudart.so.12: cannot open shared object file: No such file or "
        "directory",
        source=f"{_V}#7112, 2024-08-03",
    ),
    log_pattern(
        "EVL-SYMBOL", _MACHINE, r"ImportError: (?P<file>\S+\.so): undefined symbol: (?P<name>\w+)",
        "vLLM's own library does not fit the torch beside it: `{name}` is missing.",
        "Install vLLM and the torch that it asks for together, in an environment of their own.",
        text="ImportError: /srv/vllm/_C.abi3.so: undefined symbol: "
        "_Z20cutlass_moe_mm_sm100RN2at6TensorERKS0_",
        source=f"{_V}#29030, 2025-11-19",
    ),
    log_pattern(
        "EVL-ILLEGAL-ACCESS", _MACHINE, r"CUDA error: an illegal memory access was encountered",
        "A kernel read memory that is not its own: a fault of the engine or of the GPU.",
        "Try a newer vLLM; where it recurs on one GPU alone, look for Xid messages in its log.",
        text="torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        source=f"{_V}#14965",
    ),
    log_pattern(
        "EVL-PEER", _MACHINE, r"peer access is not supported between these two devices",
        "Two of the GPUs cannot read each other's memory.",
        "Set `disable-custom-all-reduce` in `enginehouse.vllm_args`, or use GPUs with NVLink.",
        text="RuntimeError: CUDART error: peer access is not supported between these two devices",
        source="vLLM, distributed/device_communicators/custom_all_reduce.py",
        field="enginehouse.vllm_args",
    ),
    log_pattern(
        "EVL-FULL", _CONFIG, r"CUDA error: out of memory",
        "The GPU is full: weights and activations take more than it has.",
        "Use more GPUs or a lower precision, or lower max_num_tokens.",
        text="RuntimeError: CUDA error: out of memory",
        source=f"{_V}#2348, 2024-01-04", field=fields.ACCELERATOR, fix=half(TOKENS),
    ),
    log_pattern(
        "EVL-START-TIMEOUT", _MACHINE,
        r"Did not receive response from front-end process within (?P<minutes>\d+) minutes|"
        r"Timed out waiting for engine core processes to start",
        "Loading took longer than the engine's processes wait for each other.",
        "Start again once the files are in the host's cache; a slow disk looks like this.",
        text="RuntimeError: Did not receive response from front-end process within 5 minutes",
        source="vLLM, v1/engine/core.py",
    ),
    log_pattern(
        "EVL-PAGE-SIZES", Blame.CHECKPOINT,
        r"page size of the layer is not divisible by the maximum page size|"
        r"Cannot unify page sizes",
        "The layers of this hybrid model keep blocks that cannot be brought to one size.",
        "Keep the KV cache in 16 bits, or use a newer vLLM.",
        text="NotImplementedError: The page size of the layer is not divisible by the maximum "
        "page size. Cannot unify by adjusting block_size.",
        source="vLLM, v1/core/kv_cache_utils.py", field=fields.QUANTIZATION,
    ),
)  # fmt: skip
ENDED = (
    log_pattern(
        "EVL-RANK-ENDED", _MACHINE,
        r"Worker proc VllmWorker-(?P<rank>\d+) died unexpectedly",
        "The process of rank {rank} ended without a word of its own, and the engine with it; when "
        "nobody killed it, memory ran out.",
        "Look for it in the host's kernel log (`dmesg`): out of memory, or an Xid of a GPU.",
        text="Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        source="vLLM 0.25.1, v1/executor/multiproc_executor.py",
    ),
)  # fmt: skip
