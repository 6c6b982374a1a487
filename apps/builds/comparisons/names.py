import re

from apps.configs.form_fields import label_of

_AS_THEY_ARE = frozenset({"tools", "findings"})
"""Parts whose labels are names already: of packages, of rules."""
_TASKS = "tasks."
"""Begins a measured task of the gate, which keeps the letters of its name."""
_WORDS = {
    "seconds": "duration",
    "size_bytes": "size",
    "disk_bytes": "disk",
    "peak_host_bytes": "peak memory",
    "peak_device_bytes": "peak GPU memory",
    "kv_bytes_per_token": "KV cache per token",
    "per_gpu": "each GPU",
}
_UNITS = re.compile(r"_(bytes|seconds)$")
_SHORT = re.compile(r"\b(gpu|kv)\b")


def row_name(part: str, label: str) -> str:
    """Return the name in words, empty where the label itself is what people know."""
    if part == "config":
        return label_of(label)
    if part in _AS_THEY_ARE or label.startswith(_TASKS):
        return ""
    words = ", ".join(map(_words, label.split(".")))
    return words[:1].upper() + words[1:]


def _words(key: str) -> str:
    words = _WORDS.get(key) or _UNITS.sub("", key).replace("_", " ")
    return _SHORT.sub(lambda match: match[0].upper(), words)
