"""The model of a command line -> the checkpoint of a config, and back."""

import re
from pathlib import PurePosixPath
from typing import Any

from controlplane.domain.commands.draft import REPOSITORY, Draft
from controlplane.domain.commands.invocation import CommandContext
from controlplane.domain.commands.numbers import clean
from controlplane.domain.commands.options import Option
from controlplane.domain.commands.report import Choice
from controlplane.domain.commands.secrets import CommandSecrets
from controlplane.domain.commands.words import Word
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.checkpoint_repository import is_hub_id
from controlplane.domain.spec.choices import CheckpointSource

_SCHEMES = {
    "s3://": CheckpointSource.S3,
    "gs://": CheckpointSource.GCS,
    "az://": CheckpointSource.AZURE,
    "https://": CheckpointSource.REMOTE_URL,
    "http://": CheckpointSource.REMOTE_URL,
}
_BUCKET_SECRETS = {
    CheckpointSource.S3: "aws_credentials",
    CheckpointSource.GCS: "gcp_service_account",
    CheckpointSource.AZURE: "azure_account_key",
}
_HUB_PAGE = re.compile(r"https://huggingface\.co/([\w.-]+/[\w.-]+)/?", re.ASCII)
_FOLDER_NAMES = frozenset({"model", "models", "checkpoint", "checkpoints", "weights", "workspace"})
_LOCAL = (
    "A folder of the build host, which must lie inside one of LOCAL_CHECKPOINT_ROOTS; the build "
    "copies it into the artifact."
)


def carry_checkpoint(
    draft: Draft, flag: str, word: Word, context: CommandContext, secrets: CommandSecrets
) -> None:
    text = clean(word)
    if word.unknown or not text:
        ask_checkpoint(draft, flag, f"`{text}` is set outside of what was pasted.")
        return
    source, repo = _source_of(text)
    place = {"source": source.value, "repo": repo}
    shown = f"{flag} {text}".strip()
    if source is CheckpointSource.LOCAL:
        _carry_folder(draft, shown, place, context)
        return
    if secret := _BUCKET_SECRETS.get(source):
        place["runtime_secret_name"] = secret
        secrets.other(secret, shown, Word(text=""))
        draft.fields[f"secrets.{secret}"] = None
    draft.carry(shown, REPOSITORY, place)
    draft.note_origin(flag, word, REPOSITORY)
    if source is CheckpointSource.HF and text.split("/")[0].lower() in _FOLDER_NAMES:
        _ask_hub_or_folder(draft, shown, place)


def carry_revision(draft: Draft, option: Option | None) -> None:
    if option is None:
        return
    revision = clean(option.value)
    if REPOSITORY in draft.fields and revision and not option.value.unknown:
        draft.carry(option.text, f"{REPOSITORY}.revision", revision)
    else:
        draft.leave(option.text, "Its value, or the checkpoint it belongs to, is unknown.")


def ask_checkpoint(draft: Draft, flag: str | None, why: str) -> None:
    draft.ask(
        flag, REPOSITORY, f"Which checkpoint? {why} Write its `source` and `repo` into the config."
    )


def adapter_place(text: str, context: CommandContext) -> dict[str, Any]:
    source, repo = _source_of(text)
    folder = source is CheckpointSource.LOCAL
    return {"source": source.value, "repo": _on_host(repo, context) if folder else repo}


def model_argument(place: CheckpointRepository) -> str:
    schemes = {source: scheme for scheme, source in _SCHEMES.items() if scheme != "http://"}
    scheme = schemes.get(place.source, "")
    if place.source is CheckpointSource.REMOTE_URL or "://" in place.repo:
        return place.repo
    return scheme + place.repo


def _source_of(text: str) -> tuple[CheckpointSource, str]:
    if page := _HUB_PAGE.fullmatch(text):
        return CheckpointSource.HF, page[1]
    for scheme, source in _SCHEMES.items():
        if text.startswith(scheme):
            return source, text
    text = text.removeprefix("hf://")
    return (CheckpointSource.HF if is_hub_id(text) else CheckpointSource.LOCAL), text


def _carry_folder(draft: Draft, shown: str, place: dict[str, Any], context: CommandContext) -> None:
    host = _on_host(place["repo"], context)
    reason = _LOCAL
    if host != place["repo"]:
        reason = f"The container sees the host's `{host}` there. {_LOCAL}"
    draft.change(shown, REPOSITORY, {**place, "repo": host}, reason)


def _on_host(path: str, context: CommandContext) -> str:
    inside = PurePosixPath(path)
    for folder, host in sorted(context.folders.items(), key=lambda pair: -len(pair[0])):
        if folder and inside.is_relative_to(folder):
            return str(PurePosixPath(host) / inside.relative_to(folder))
    return path


def _ask_hub_or_folder(draft: Draft, shown: str, place: dict[str, Any]) -> None:
    repo = place["repo"]
    draft.ask(
        shown,
        REPOSITORY,
        f"`{repo}` can be a repository of the hub or a folder beside the script. Which is it?",
        (
            Choice(label=f"{repo} on the hub", patch={REPOSITORY: place}),
            Choice(
                label="A folder of the build host; complete its path",
                patch={REPOSITORY: {"source": "LOCAL", "repo": f"/{repo}"}},
            ),
        ),
    )
