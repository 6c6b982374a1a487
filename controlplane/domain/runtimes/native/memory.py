"""The native engine's memory: planned by what a full batch can use, on a host or on one GPU."""

from controlplane.domain.memory.native_plan import plan_native
from controlplane.domain.memory.runtime_memory import RuntimeMemory

MEMORY = RuntimeMemory(name="native", planner=plan_native, divides=False)
