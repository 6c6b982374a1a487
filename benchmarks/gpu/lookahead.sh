#!/usr/bin/env bash
# Measures lookahead under vLLM on an NVIDIA device: our drafter, vLLM's own n-gram, and no drafts.
#
#   benchmarks/gpu/lookahead.sh --out FOLDER [--seconds 400] [--sides ours_63,none,…] [--shape FILE]
#       [--jobs FILE] [--tokenizer FOLDER] [--small FOLDER] [--through-gateway]
#       [--at-once 1]
#
# ENGINEHOUSE_PYTHON and VLLM_PYTHON name interpreters, as for `run.sh`. FOLDER gets `lookahead.json`,
# written anew after each figure, and the servers' logs. No side is begun when the seconds are over.
# --small is SmolLM2 with its weights; without it those sides are left out. --jobs and --tokenizer
# bring what `python -m benchmarks.gpu.lookahead_parts.jobs` wrote elsewhere.
# --through-gateway asks each server at the product's own gateway before it. Ours at 127 beside
# vLLM's n-gram at its best, in one call, with the guard of `BREAK_EVEN_TOKENS`:
#   benchmarks/gpu/lookahead.sh --out FOLDER --through-gateway --seconds 540 --at-once 5 \
#       --sides ours_127,ngram_63,ngram_31,ngram_15,none
# --at-once starts so many sides together (21 GB each), and asks one after another.
# The device must be used by nobody.
# Exit status: 0 measured, 1 nothing was, 2 wrong use, 3 no device.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out="" words=()
usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
while [[ $# -gt 0 ]]; do
  if [[ "$1" == --through-gateway ]]; then
    words+=("$1")
    shift
    continue
  fi
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --out) out=$2 ;;
    --seconds | --sides | --at-once | --shape | --jobs | --tokenizer | --small) words+=("$1" "$2") ;;
    *) usage ;;
  esac
  shift 2
done
[[ -n "$out" ]] || usage
if [[ -z "${REHEARSAL:-}" ]]; then
  command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
: "${ENGINEHOUSE_PYTHON:?name an interpreter that has Enginehouse}"
: "${VLLM_PYTHON:?name an interpreter that has vLLM}"
export HF_HUB_OFFLINE=1 VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1
cd "$here"
exec "$ENGINEHOUSE_PYTHON" -m benchmarks.gpu.lookahead "$out" "${words[@]}"
