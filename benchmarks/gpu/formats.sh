#!/usr/bin/env bash
# Loads what builds write in each precision into vLLM on an NVIDIA device, and compares its answers
# with the native engine's.
#
#   benchmarks/gpu/formats.sh --out FOLDER --checkpoints FOLDER [--cases fp8,…] [--at-once 7]
#
# FOLDER of --checkpoints is what `python -m benchmarks.gpu.formats make FOLDER` wrote on any machine.
# ENGINEHOUSE_PYTHON and VLLM_PYTHON name interpreters, as for `run.sh`. The device must be used by
# nobody. FOLDER of --out gets `formats.json`, and the engines' logs packed.
# Exit status: 0 all loaded, 1 not, 2 wrong use, 3 no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" checkpoints="" words=()
usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --out) out=$2 ;;
    --checkpoints) checkpoints=$2 ;;
    --cases | --at-once) words+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[[ -n "$out" && -d "$checkpoints" ]] || usage
if [[ -z "${REHEARSAL:-}" ]]; then
  command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
fi
: "${VLLM_PYTHON:?name an interpreter that has vLLM}"
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse}"
mkdir -p "$out"
out=$(cd "$out" && pwd)
checkpoints=$(cd "$checkpoints" && pwd)
# FlashInfer, whose sampler vLLM would take, is not among what is packed.
export VLLM_PYTHON HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
cd "$here"
exec "$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.formats ask "$checkpoints" --out "$out" "${words[@]}"
