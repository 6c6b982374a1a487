"""The version of a package in another Python environment, asked of its interpreter."""

import subprocess

_SECONDS = 60.0


def package_version(python: str, package: str) -> str | None:
    """Return the version as the drivers name it, such as `0.25`; None where it is not there."""
    question = f"import importlib.metadata as each; print(each.version({package!r}))"
    try:
        completed = subprocess.run(
            [python, "-I", "-c", question],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return ".".join(completed.stdout.strip().split(".")[:2]) or None
