"""The environment that a step's process gets: what is listed here, and nothing that is secret."""

import os
from collections.abc import Mapping

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.runtimes.device_links import DEVICE_LINKS
from controlplane.domain.runtimes.runtime import variables_of
from workers import gates
from workers.build_steps.processes import INSTANCE_VARIABLE, LEASE_VARIABLE

SAMPLES_GATE = "samples"
"""The gate in the middle of calibration, after each batch; the others have the steps' names."""

_ALLOWED = (
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP",
    "VIRTUAL_ENV", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "CUDA_DEVICE_ORDER", *DEVICE_LINKS, *variables_of(RUNTIMES.values()),
    "ENGINE_CACHE_DIR", "ENGINE_CONTAINER_WRITABLE",
    "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH",
    "LOG_LEVEL", "MODEL_CLASS_CACHE", gates.VARIABLE,
)  # fmt: skip

_FIXED = {
    "PYTHONUNBUFFERED": "1",
    # A token from the machine's own login must not open what the user's secret does not.
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # A waiting thread sleeps instead of spinning: beside other work on the machine, two spinning
    # threads made calibration seven times as expensive.
    "OMP_WAIT_POLICY": "PASSIVE",
    # An engine that names its processes writes over the marks without this (setproctitle).
    "SPT_NOENV": "1",
}


def child_environment(lease: str, instance: str, extra: Mapping[str, str]) -> dict[str, str]:
    allowed = {name: os.environ[name] for name in _ALLOWED if name in os.environ}
    marks = {LEASE_VARIABLE: lease, INSTANCE_VARIABLE: instance}
    return {**allowed, **_FIXED, **extra, **marks}


def engine_environment(launch: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an engine that a step starts: the step's own, marks included."""
    return {**os.environ, **launch}
