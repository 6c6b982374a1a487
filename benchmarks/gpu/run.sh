#!/usr/bin/env bash
# Shows Enginehouse on an NVIDIA device: the whole product starts there and builds, serves and fails.
#
#   benchmarks/gpu/run.sh --out FOLDER [--parts FOLDER] [--results benchmarks/results]
#       [--data FOLDER] [--stages build,ask,…] [--seconds 900]
#
# VLLM_PYTHON and ENGINEHOUSE_PYTHON name interpreters that have vLLM and Enginehouse. With --parts
# they are made instead: what `pack.py` packed there (now, where the folder is empty) is installed
# beside the packages of the host's own Python 3.12, into the folder TARGET or a passing one.
#
# The device must be the host's only one, or one of two for the stages two_…, and used by nobody. FOLDER gets one JSON file a stage and
# the raw logs; --results gets `<what>-<device>-<date>.json` of each, for `python benchmarks/evidence.py`.
# Exit status: 0 every stage came through, 1 not, 2 wrong use, 3 no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" parts="" results="$here/benchmarks/results" target=${TARGET:-} words=()

usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }

while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --out) out=$2 ;;
    --parts) parts=$2 ;;
    --results) results=$2 ;;
    --data | --stages | --seconds) words+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[[ -n "$out" ]] || usage
if [[ -z "${REHEARSAL:-}" ]]; then
  command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
  count=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
  [[ $count -eq 1 ]] || echo "This host has $count devices: all stages but two_… look at the first alone." >&2
fi
mkdir -p "$out" "$results"
out=$(cd "$out" && pwd)
results=$(cd "$results" && pwd)
if [[ -n "$parts" ]]; then
  if [[ -z "$target" ]]; then
    target=$(mktemp -d)
    trap 'rm -rf "$target"' EXIT
  fi
  [[ -f "$parts/enginehouse.00" ]] || python3 "$here/benchmarks/gpu/pack.py" "$parts"
  for name in vllm enginehouse; do
    if [[ ! -f "$target/$name.installed" ]]; then
      "$here/benchmarks/gpu/install.sh" "$name" "$parts" "$target" > "$target/$name.installing"
      mv "$target/$name.installing" "$target/$name.installed"
    fi
    # shellcheck source=/dev/null
    . "$target/$name.installed"
  done
fi
: "${VLLM_PYTHON:?name an interpreter that has vLLM, or give --parts}"
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse, or give --parts}"
# FlashInfer, whose sampler vLLM would take, is not among what is packed.
export VLLM_PYTHON VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1
cd "$here"
status=0
"$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.show --out "$out" "${words[@]}" || status=$?
"$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.keep "$out" --results "$results"
exit "$status"
