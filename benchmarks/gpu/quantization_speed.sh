#!/usr/bin/env bash
# The quantization speed table of the guide, by the product's own load generator: deployments of one
# checkpoint in `no_quant`, `fp8` and `fp8_kv`, at 1, 8 and 64 requests at a time.
#
#   benchmarks/gpu/quantization_speed.sh --out FOLDER --checkpoints FOLDER [--seconds 30]
#
# FOLDER of --checkpoints has a folder for each precision with the artifact that a build wrote
# (`random_checkpoint.py` and `random_precisions.py` write the Qwen3-8B shape). VLLM_PYTHON names an interpreter that has vLLM,
# ENGINEHOUSE_PYTHON one that has Enginehouse. The device must be used by nobody. FOLDER of --out
# gets `quantization-speed.json` and the engines' logs; it would have to show `fp8` and `fp8_kv`
# beside the documented 2 and 2.5 times.
# With REHEARSAL=1 the native engine serves on the CPU, to try the script.
# Exit status: 0 all were measured, 1 not, 2 wrong use, 3 no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" checkpoints="" words=()
usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --out) out=$2 ;;
    --checkpoints) checkpoints=$2 ;;
    --seconds | --levels) words+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[[ -n "$out" && -d "$checkpoints" ]] || usage
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse}"
if [[ -z "${REHEARSAL:-}" ]]; then
  command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
  : "${VLLM_PYTHON:?name an interpreter that has vLLM}"
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
checkpoints=$(cd "$checkpoints" && pwd)
export HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
cd "$here"
exec "$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.quantization_speed "$checkpoints" --out "$out" "${words[@]}"
