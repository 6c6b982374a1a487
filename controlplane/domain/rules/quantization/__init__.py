"""EH2: precisions, what they are calibrated on, and models that they suit."""

from controlplane.domain.rules.quantization import (
    bit_budgets,
    calibration_data,
    calibration_sets,
    excluded_modules,
    fp8_blocks,
    gate_tasks,
    integers,
    kv_cache,
    precision,
    trade_offs,
    unsuited_models,
)

RULES = (
    *bit_budgets.RULES,
    *calibration_data.RULES,
    *calibration_sets.RULES,
    *excluded_modules.RULES,
    *fp8_blocks.RULES,
    *gate_tasks.RULES,
    *integers.RULES,
    *kv_cache.RULES,
    *precision.RULES,
    *trade_offs.RULES,
    *unsuited_models.RULES,
)
