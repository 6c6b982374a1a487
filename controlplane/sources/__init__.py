"""Checkpoints in: resolve a repository to a commit and files, read its facts, fetch it."""

from controlplane.sources.cache import prune
from controlplane.sources.checkpoints import fetch, look, read_facts, resolve
from controlplane.sources.facts import Looked, folder_facts
from controlplane.sources.failures import SourceFailure, bad_file
from controlplane.sources.options import SourceOptions
from controlplane.sources.resolved import Resolved, SourceFile

__all__ = [
    "Looked",
    "Resolved",
    "SourceFailure",
    "SourceFile",
    "SourceOptions",
    "bad_file",
    "fetch",
    "folder_facts",
    "look",
    "prune",
    "read_facts",
    "resolve",
]
