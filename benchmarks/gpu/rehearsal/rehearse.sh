#!/usr/bin/env bash
# Rehearses `run.sh` on a machine without a device: a stand-in for vLLM, NVIDIA's library as it
# presents one H100, a small shape for the large one, and PyTorch on the CPU.
#
#   benchmarks/gpu/rehearsal/rehearse.sh FOLDER [--stages build,ask,…] [--seconds 900] [--data FOLDER]
#
# With REHEARSED_DEVICES=2 there are two, for the stages that `--stages two_…` names.
# ENGINEHOUSE_PYTHON (.venv/bin/python) has Enginehouse. FOLDER gets what `run.sh` writes, and below
# `kept` what it would have kept. `native_deploy` is left out (the agent starts that
# engine on CUDA), and the embedders (the stand-in's vectors have two numbers).
set -euo pipefail
[[ $# -ge 1 && $1 != -* ]] || { sed -n '2,11p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
rehearsal=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
here=$(cd "$rehearsal/../../.." && pwd)
python=${ENGINEHOUSE_PYTHON:-$here/.venv/bin/python}
out=$1
shift
stages=build,documented,documented_small,documented_lookahead,documented_ask,clients,reranker
stages+=,classifier,native,deploy,ask,media,speed,kill,take_down,media_images,no_quant,out_of_memory
stages+=,large_build,large_deploy,large_speed,large_take_down,large_fp8_kv,large_no_quant

environment=$(mktemp -d)
held="${TMPDIR:-/tmp}/rehearsed-device"
rm -rf "$held"  # files of an earlier rehearsal, named by pids that may be somebody's now
[[ -z ${REHEARSED_DEVICES:-} ]] || mkdir -p "$held"
trap 'rm -rf "$environment" "$held"' EXIT
"$python" -m venv --without-pip "$environment"
site() { "$1" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }
# The rehearsed parts before the real ones. A file, since children get no PYTHONPATH of ours.
printf '%s\n' "$rehearsal" "$(site "$python")" "$here" "import on_a_cpu" \
  > "$(site "$environment/bin/python")/rehearsal.pth"

export ENGINEHOUSE_PYTHON="$environment/bin/python" VLLM_PYTHON="$rehearsal/stand_in_vllm.py"
export REHEARSAL=1 NATIVE_DEVICE=cpu CALIBRATION_SAMPLES=2 SPEED_TOKENS=24 TEACHING_STEPS=1
export LARGE_CONFIG='{"hidden_size": 256, "num_hidden_layers": 2, "intermediate_size": 512,
  "vocab_size": 49152, "num_attention_heads": 2, "num_key_value_heads": 2}'
"$here/benchmarks/gpu/run.sh" --out "$out" --results "$out/kept" --stages "$stages" "$@"
