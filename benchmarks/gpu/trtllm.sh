#!/usr/bin/env bash
# Serves one artifact with TensorRT-LLM from the files that Enginehouse writes, asks it a few
# things, and keeps what it answered: the proof that the project does not have yet. It needs one
# NVIDIA card of compute capability 8.9 or newer (an H100 is what we ask for), an environment in
# which `python -m tensorrt_llm.commands.serve --help` works (NVIDIA's release container has it),
# and Enginehouse's own Python for the rendering.
#
#   benchmarks/gpu/trtllm.sh --config config.yaml --model /path/to/artifact [--version 1.2]
#       [--engine-python python3] [--python .venv/bin/python] [--out trtllm-result]
#
# The result is one folder and a .tar.gz of it: rendered files, versions, card, the engine's log,
# answers and metrics. Neither weights nor secrets are in it. Please send it in an issue.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
config="" model="" version="1.2" engine_python="python3" python="${here}/.venv/bin/python"
out="trtllm-result" port="${PORT:-18080}" wait_seconds="${WAIT_SECONDS:-1200}"

usage() { sed -n '2,14p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }

while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case "$1" in
    --config) config=$2 ;;
    --model) model=$2 ;;
    --version) version=$2 ;;
    --engine-python) engine_python=$2 ;;
    --python) python=$2 ;;
    --out) out=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[[ -f "$config" && -d "$model" ]] || usage
command -v nvidia-smi >/dev/null || { echo "No nvidia-smi: this needs an NVIDIA card." >&2; exit 3; }

mkdir -p "$out"
out=$(cd "$out" && pwd)
model=$(cd "$model" && pwd)
config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")

echo "1/4 Writing the engine's files"
(cd "$here" && "$python" manage.py render_runtime "$config" --runtime trtllm \
  --runtime-version "$version" --facts "$model" --model-dir "$model" --port "$port" \
  --engine-python "$engine_python" --output "$out" > "$out/rendered.txt")
mapfile -t -d '' argv < "$out/argv"

echo "2/4 Noting versions"
{
  date -u +"date: %Y-%m-%dT%H:%M:%SZ"
  nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv
  "$engine_python" -c 'import tensorrt_llm, torch; print("tensorrt_llm:", tensorrt_llm.__version__, "torch:", torch.__version__)' 2>/dev/null
  (cd "$here" && git rev-parse HEAD 2>/dev/null) || true
} > "$out/versions.txt"

echo "3/4 Starting: ${argv[*]}"
HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 "${argv[@]}" > "$out/engine.log" 2>&1 &
engine=$!
stop() { kill "$engine" 2>/dev/null || true; wait "$engine" 2>/dev/null || true; }
trap stop EXIT

url="http://127.0.0.1:${port}"
deadline=$((SECONDS + wait_seconds))
until curl -fsS -o /dev/null "$url/health" 2>/dev/null; do
  if ! kill -0 "$engine" 2>/dev/null; then
    echo "The engine ended; its last lines:" >&2
    tail -n 30 "$out/engine.log" >&2
    tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
    echo "Please send $out.tar.gz all the same." >&2
    exit 1
  fi
  [[ $SECONDS -lt $deadline ]] || { echo "Not ready after ${wait_seconds} s." >&2; exit 1; }
  sleep 2
done
echo "ready_seconds: $SECONDS" >> "$out/versions.txt"

echo "4/4 Asking"
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
ask schema /v1/chat/completions \
  "{\"model\":\"$name\",\"messages\":$question,\"max_tokens\":64,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"colours\",\"schema\":{\"type\":\"object\",\"properties\":{\"colours\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"colours\"]}}}}"
ask long /v1/completions \
  "{\"model\":\"$name\",\"prompt\":\"Once upon a time\",\"max_tokens\":512,\"temperature\":0,\"ignore_eos\":true}"
curl -sS "$url/prometheus/metrics" > "$out/metrics.txt" || true
nvidia-smi > "$out/nvidia-smi.txt"
stop
trap - EXIT
tar -C "$(dirname "$out")" -czf "$out.tar.gz" "$(basename "$out")"
echo "Done. Please send $out.tar.gz."
