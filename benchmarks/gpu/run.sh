#!/usr/bin/env bash
# Shows Enginehouse on an NVIDIA card: the whole product starts there and builds, serves and fails.
#
#   benchmarks/gpu/run.sh --out RESULTS [--parts FOLDER] [--data FOLDER] [--stages build,ask,…]
#       [--seconds 900]
#
# With --parts, what `pack.py` packed is installed first, into the folder TARGET, or into one that
# is removed at the end; otherwise VLLM_PYTHON and ENGINEHOUSE_PYTHON name interpreters that have
# vLLM and Enginehouse. Writes one JSON file a stage and the raw logs.
# Exit 3 where there is no card.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" parts="" target=${TARGET:-} words=()
while [[ $# -gt 0 ]]; do
  case "$1" in
    --out) out=$2 ;;
    --parts) parts=$2 ;;
    *) words+=("$1" "$2") ;;
  esac
  shift 2
done
[[ -n "$out" ]] || { sed -n '2,10p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
[[ -n "${REHEARSAL:-}" ]] || command -v nvidia-smi >/dev/null \
  || { echo "No nvidia-smi: this needs an NVIDIA card." >&2; exit 3; }
mkdir -p "$out"
out=$(cd "$out" && pwd)
if [[ -n "$parts" ]]; then
  if [[ -z "$target" ]]; then
    target=$(mktemp -d)
    trap 'rm -rf "$target"' EXIT
  fi
  for name in vllm enginehouse; do
    if [[ ! -f "$target/$name.installed" ]]; then
      "$here/benchmarks/gpu/install.sh" "$name" "$parts" "$target" > "$target/$name.installing"
      mv "$target/$name.installing" "$target/$name.installed"
    fi
    . "$target/$name.installed"
  done
fi
: "${VLLM_PYTHON:?name an interpreter that has vLLM, or give --parts}"
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse, or give --parts}"
export VLLM_PYTHON VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1
cd "$here"
"$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.show --out "$out" "${words[@]}"
