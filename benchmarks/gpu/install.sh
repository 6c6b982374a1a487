#!/usr/bin/env bash
# Installs what pack.py packed on a GPU host: vLLM into an environment of its own, or Enginehouse
# into another; both also see the packages of the host's own Python.
#
#   benchmarks/gpu/install.sh vllm|enginehouse PARTS TARGET [PYTHON]
#
# Prints the interpreter, as a line VLLM_PYTHON=… or ENGINEHOUSE_PYTHON=….
set -euo pipefail
[[ $# -ge 3 ]] || { sed -n '2,7p' "${BASH_SOURCE[0]}" | cut -c3-; exit 2; }
name=$1 parts=$2 target=$3 python=${4:-python3}
"$python" - <<'END' >&2 || exit 1
import importlib.util, sys
lacks = [each for each in ("torch", "transformers") if importlib.util.find_spec(each) is None]
if sys.version_info[:2] != (3, 12) or lacks:
    sys.exit(f"{sys.executable} is Python {sys.version.split()[0]} and lacks {lacks or 'nothing'}: what "
             "was packed goes beside the torch and the transformers of a Python 3.12. Put one first "
             "in PATH, or name interpreters by VLLM_PYTHON and ENGINEHOUSE_PYTHON instead.")
END
mkdir -p "$target"
target=$(cd "$target" && pwd)
cat "$parts/$name".[0-9][0-9] | "$python" -c '
import sys, tarfile
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|xz") as tar:
    tar.extractall(sys.argv[1], filter="tar")' "$target"
chmod 755 "$target/$name-site"  # pip keeps it to one user, and PostgreSQL has one of its own
host_site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
"$python" -m venv --without-pip "$target/$name-env"
# Its own packages first, the host's behind them.
printf '%s\n%s\n' "$target/$name-site" "$host_site" > \
  "$("$target/$name-env/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/packages.pth"
echo "${name^^}_PYTHON=$target/$name-env/bin/python"
