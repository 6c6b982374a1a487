#!/usr/bin/env bash
# Installs what pack.py packed on a GPU host: vLLM into an environment of its own, Enginehouse into
# another; both also see the packages of the host's own Python.
#
#   benchmarks/gpu/install.sh ALL.TAR TARGET [PYTHON]
#
# Prints the two interpreters, as lines VLLM_PYTHON=… and ENGINEHOUSE_PYTHON=….
set -euo pipefail
tar=$1 target=$2 python=${3:-python3}
mkdir -p "$target"
tar -xf "$tar" -C "$target"
host_site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')

install() {
  local name=$1
  "$python" -m venv --without-pip "$target/$name-env"
  "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --upgrade \
    --target "$target/$name-site" "$target/$name"/*.whl
  # Its own packages first, the host's behind them.
  printf '%s\n%s\n' "$target/$name-site" "$host_site" \
    > "$("$target/$name-env/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/packages.pth"
}

install vllm &
install enginehouse
wait $!
echo "VLLM_PYTHON=$target/vllm-env/bin/python"
echo "ENGINEHOUSE_PYTHON=$target/enginehouse-env/bin/python"
