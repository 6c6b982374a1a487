#!/usr/bin/env bash
# Measures encoders on an NVIDIA device: the native engine, alone and through the gateway, and vLLM.
#
#   benchmarks/gpu/encoders.sh --out FOLDER [--shapes bge_large,…] [--tokenizer FOLDER]
#
# ENGINEHOUSE_PYTHON and VLLM_PYTHON name interpreters, as for `run.sh`; without the latter vLLM is
# left out. FOLDER gets `encoders.json` and the servers' logs. The device must be used by nobody.
# Exit status: 0 measured, 2 wrong use, 3 no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" words=()
usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --out) out=$2 ;;
    --shapes | --tokenizer) words+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[[ -n "$out" ]] || usage
if [[ "${NATIVE_DEVICE:-cuda}" == cuda ]]; then
  command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse}"
export OUT=$out HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
cd "$here"
exec "$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.encoders "$out" "${words[@]}"
