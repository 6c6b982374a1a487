#!/usr/bin/env bash
# Serves one artifact with TensorRT-LLM from the files that Enginehouse writes, asks it a few
# things, and keeps what it answered: the proof that the project does not have yet. It needs one
# NVIDIA device of compute capability 8.9 or newer (an H100 is what we ask for) and an environment in
# which `python3 -m tensorrt_llm.commands.serve --help` works. NVIDIA's release container has it:
#
#   docker run --rm -it --gpus all --ipc host -v "$PWD:/enginehouse" -v /path/to/artifact:/model \
#     nvcr.io/nvidia/tensorrt-llm/release:1.2.1 \
#     /enginehouse/benchmarks/gpu/trtllm.sh --config /enginehouse/config.yaml --model /model
#
# --model is the artifact of a build (`hf_quant_config.json` is in it) or any checkpoint folder that
# the config is about; --config names its device in `resources.accelerator`.
#
#   benchmarks/gpu/trtllm.sh --config config.yaml --model /path/to/artifact [--version 1.2]
#       [--engine-python python3] [--python PYTHON] [--out trtllm-result]
#       [--results benchmarks/results]
#
# --python has Enginehouse's packages; by itself that is .venv, as `make up` makes it, and where that
# is missing an environment below ~/.cache, made with Python 3.11 or 3.12 from a package index.
# The engine listens on PORT (18080) and may take WAIT_SECONDS (1200) to become ready.
#
# The result is benchmarks/results/trtllm-<device>-<date>.json, and one .tar.gz of it with rendered
# files, versions, the engine's log, answers and metrics. Neither weights nor secrets are in it.
# Please attach the .tar.gz to an issue of this repository named "TensorRT-LLM on <device>", or add
# the JSON file in a pull request: `python benchmarks/evidence.py` puts it on the page of evidence.
# Exit status: 0 every answer as asked, 1 not, 2 wrong use, 3 no device.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command_line="benchmarks/gpu/trtllm.sh $*"
config="" model="" version="1.2" engine_python="python3" python=""
out="trtllm-result" port="${PORT:-18080}" wait_seconds="${WAIT_SECONDS:-1200}"
results="${here}/benchmarks/results"

usage() { sed -n '2,/^# Exit status/p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }

while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --config) config=$2 ;;
    --model) model=$2 ;;
    --version) version=$2 ;;
    --engine-python) engine_python=$2 ;;
    --python) python=$2 ;;
    --out) out=$2 ;;
    --results) results=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[[ -f "$config" && -d "$model" ]] || usage
command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA device." >&2; exit 3; }
command -v curl >/dev/null || { echo "No curl, which asks the engine: please install it." >&2; exit 2; }

mkdir -p "$out" "$results"
out=$(cd "$out" && pwd)
results=$(cd "$results" && pwd)
model=$(cd "$model" && pwd)
config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")

if [[ -z "$python" ]] && "$here/.venv/bin/python" -c 'import django' 2>/dev/null; then
  python="$here/.venv/bin/python"
elif [[ -z "$python" ]]; then
  # Not in the clone, whose .venv is of another Python where this is a container.
  environment="${XDG_CACHE_HOME:-$HOME/.cache}/enginehouse-trtllm"
  python="$environment/bin/python"
  echo "Installing Enginehouse's packages into $environment"
  python3 -m venv "$environment"
  # NVIDIA's images name constraints of their own for every pip.
  env -u PIP_CONSTRAINT "$python" -m pip -q --disable-pip-version-check install \
    -c "$here/constraints.txt" -e "$here"
fi

echo "1/5 Writing the engine's files"
(cd "$here" && "$python" manage.py render_runtime "$config" --runtime trtllm \
  --runtime-version "$version" --facts "$model" --model-dir "$model" --port "$port" \
  --engine-python "$engine_python" --output "$out" > "$out/rendered.txt")
mapfile -t -d '' argv < "$out/argv"

echo "2/5 Noting versions"
nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap,memory.free --format=csv \
  > "$out/device.csv"
{
  date -u +"date: %Y-%m-%dT%H:%M:%SZ"
  "$engine_python" -c 'import tensorrt_llm, torch; print("tensorrt_llm:", tensorrt_llm.__version__, "torch:", torch.__version__)' 2>/dev/null || echo "tensorrt_llm: cannot be imported"
  (cd "$here" && git rev-parse HEAD 2>/dev/null) || true
} > "$out/versions.txt"

echo "3/5 Starting: ${argv[*]}"
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 "${argv[@]}" > "$out/engine.log" 2>&1 &
engine=$!
stop() { kill "$engine" 2>/dev/null || true; wait "$engine" 2>/dev/null || true; }
trap stop EXIT
pack() { tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"; }
give_up() { # sentence
  echo "$1 Its last lines:" >&2
  tail -n 30 "$out/engine.log" >&2
  pack
  echo "Please send $out.tar.gz all the same: attach it to an issue of this repository." >&2
  exit 1
}

url="http://127.0.0.1:${port}"
deadline=$((SECONDS + wait_seconds))
until curl -fsS -o /dev/null "$url/health" 2>/dev/null; do
  kill -0 "$engine" 2>/dev/null || give_up "The engine ended."
  [[ $SECONDS -lt $deadline ]] || give_up "Not ready after ${wait_seconds} s."
  sleep 2
done
echo "ready_seconds: $SECONDS" >> "$out/versions.txt"
nvidia-smi --query-gpu=memory.used --format=csv > "$out/device_ready.csv"

echo "4/5 Asking"
ask() { # name, route, body
  curl -sS -w '\nhttp %{http_code}, %{time_total} s\n' -H 'Content-Type: application/json' \
    -d "$3" "$url$2" > "$out/$1.txt" || echo "no answer" >> "$out/$1.txt"
}
name=$(basename "$model")
question='[{"role":"user","content":"Name three primary colours."}]'
ask chat /v1/chat/completions \
  "{\"model\":\"$name\",\"messages\":$question,\"max_tokens\":64,\"temperature\":0}"
ask stream /v1/chat/completions \
  "{\"model\":\"$name\",\"messages\":$question,\"max_tokens\":64,\"stream\":true,\"stream_options\":{\"include_usage\":true}}"
# The schema as the gateway gives it: in OpenAI's wrapper the server of 1.2 would lose it.
ask schema /v1/chat/completions \
  "{\"model\":\"$name\",\"messages\":$question,\"max_tokens\":64,\"response_format\":{\"type\":\"json\",\"schema\":{\"type\":\"object\",\"properties\":{\"colours\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"colours\"]}}}"
ask long /v1/completions \
  "{\"model\":\"$name\",\"prompt\":\"Once upon a time\",\"max_tokens\":512,\"temperature\":0,\"ignore_eos\":true}"
curl -sS "$url/version" > "$out/version.txt" || true
curl -sS "$url/prometheus/metrics" > "$out/metrics.txt" || true
curl -sS "$url/metrics" > "$out/iterations.json" || true
nvidia-smi > "$out/nvidia-smi.txt"
stop
trap - EXIT

echo "5/5 Writing the result"
status=0
file=$("$python" "$here/benchmarks/gpu/trtllm_result.py" "$out" --config "$config" \
  --model "$model" --results "$results" --command "$command_line") || status=$?
pack
if [[ -z "$file" ]]; then
  echo "No result was made of what is in $out: see the error above." >&2
elif [[ $status -ne 0 ]]; then
  echo "An answer was not what was asked for: see answers in $file." >&2
fi
echo "Wrote ${file:-no result}. Please attach $out.tar.gz to an issue of this repository named \"TensorRT-LLM on <your device>\"."
exit "$status"
