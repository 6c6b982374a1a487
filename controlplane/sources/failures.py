"""What can go wrong with a checkpoint source: each its own code, said in the user's values."""

from collections.abc import Sequence

from controlplane.domain.failures import Blame, Failure
from controlplane.domain.spec import CheckpointRepository
from controlplane.domain.spec.choices import CheckpointSource
from controlplane.domain.spec.repository_forms import shown

FIELD = "trt_llm.build.checkpoint_repository"
_PREFIXES = {
    CheckpointSource.HF: "EHF",
    CheckpointSource.LOCAL: "EHL",
    CheckpointSource.S3: "ES3",
    CheckpointSource.GCS: "EGC",
    CheckpointSource.AZURE: "EAZ",
    CheckpointSource.REMOTE_URL: "EUR",
    CheckpointSource.BASETEN_TRAINING: "EHS",
}


class SourceFailure(Exception):
    """Carries the failure to show; its text is the failure's sentence."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def hosted_training(checkpoint: CheckpointRepository) -> SourceFailure:
    """Return the failure for a checkpoint that only the hosted product can read."""
    return of_configuration(
        "EHS-HOSTED-TRAINING",
        f"`{_repo(checkpoint)}` is a training project of the hosted product (`BASETEN_TRAINING`), "
        "which no other host can read.",
        "source",
        "Export the checkpoint from the training job, then upload it to a bucket and use `S3`, or "
        "copy it into one of the folders of LOCAL_CHECKPOINT_ROOTS and use `LOCAL`.",
    )


def not_a_checkpoint(checkpoint: CheckpointRepository, missing: str) -> SourceFailure:
    """Return the failure for a repository without a file that every checkpoint has."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-NOT-A-CHECKPOINT",
        f"`{_repo(checkpoint)}` is not a checkpoint: it has no {missing}.",
        "Name a repository with `config.json`, safetensors weights and tokenizer files at its top "
        "level.",
    )


def gguf_only(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    """Return the failure for weights in blocks that no runtime reads."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-GGUF",
        f"`{_repo(checkpoint)}` holds GGUF files only (`{names[0]}`), which no runtime here reads.",
        "Name the repository that they were made from, with `config.json` and safetensors.",
    )


def pickled_weights(checkpoint: CheckpointRepository, names: Sequence[str]) -> SourceFailure:
    """Return the failure for weights in a format that runs code when it is loaded."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-PICKLED-WEIGHTS",
        f"The weights of `{_repo(checkpoint)}` are pickles (`{names[0]}`), "
        "which can run code when they are loaded; they are not fetched.",
        "Convert them to safetensors (load the model with transformers, then save_pretrained), or "
        "name a revision that has safetensors.",
    )


def incomplete(checkpoint: CheckpointRepository, missing: Sequence[str]) -> SourceFailure:
    """Return the failure for sharded weights of which some are not there."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-INCOMPLETE",
        f"`{_repo(checkpoint)}` lacks {len(missing)} of its weight files, `{missing[0]}` first.",
        "Upload the missing files, or name a revision that is complete.",
    )


def bad_file(checkpoint_name: str, path: str, reason: str) -> SourceFailure:
    """Return the failure for a file whose content cannot be read."""
    return of_checkpoint(
        "EHS-BAD-FILE",
        f"`{path}` of `{checkpoint_name}` cannot be read: {reason}.",
        "Repair or upload that file again.",
    )


def unsafe_name(checkpoint: CheckpointRepository, name: str) -> SourceFailure:
    """Return the failure for a file name that could lead outside its folder."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-NAME",
        f"`{_repo(checkpoint)}` lists a file named `{name}`, which could lead outside its folder.",
        "Rename or remove that file.",
    )


def unreadable_name(checkpoint: CheckpointRepository, name: str) -> SourceFailure:
    """Return the failure for a file name that is no text."""
    return of_checkpoint(
        f"{code_prefix(checkpoint)}-NAME",
        f"`{_repo(checkpoint)}` lists a file named `{name}`, which is not text in UTF-8.",
        "Rename or remove that file.",
    )


def outside_roots(path: str, roots: Sequence[str]) -> SourceFailure:
    """Return the failure for a local path that the operator has not opened."""
    if not roots:
        return of_configuration(
            "EHL-OUTSIDE-ROOTS",
            f"`{path}` cannot be used: no folder is open to `LOCAL` checkpoints.",
            "repo",
            "Ask the operator to set LOCAL_CHECKPOINT_ROOTS to the folder that holds it.",
        )
    return of_configuration(
        "EHL-OUTSIDE-ROOTS",
        f"`{path}` lies outside the folders open to `LOCAL` checkpoints "
        f"({', '.join(f'`{root}`' for root in roots)}).",
        "repo",
        "Move the checkpoint into one of them, or ask the operator to add its folder to "
        "LOCAL_CHECKPOINT_ROOTS. Links are followed before this is checked.",
    )


def missing_folder(path: str, looked_in: Sequence[str]) -> SourceFailure:
    """Return the failure for a local path where there is no folder."""
    where = ", ".join(f"`{root}`" for root in looked_in)
    return of_configuration(
        "EHL-MISSING",
        f"There is no folder `{path}`" + (f" in {where}." if where else " on this machine."),
        "repo",
        "Check the path as the build worker sees it: every build worker must mount it.",
    )


def unreadable(path: str, reason: str) -> SourceFailure:
    """Return the failure for a local file that may not be read."""
    return of_machine(
        "EHL-UNREADABLE",
        f"`{path}` cannot be read: {reason}.",
        "Give the user of the build worker read permission on it.",
    )


def changed_locally(path: str) -> SourceFailure:
    """Return the failure for a local file that was written to during the build."""
    return of_checkpoint(
        "EHL-CHANGED",
        f"`{path}` changed while the build was reading it.",
        "Retry once nothing writes to the checkpoint's folder.",
    )


def gone_commit(checkpoint: CheckpointRepository, commit: str, found: str) -> SourceFailure:
    """Return the failure for a local folder that is no longer what the build was checked with."""
    return of_checkpoint(
        "EHL-CHANGED",
        f"`{_repo(checkpoint)}` has changed since it was checked: "
        f"its files were `{commit}` and are `{found}`.",
        "Check the config again, then build.",
    )


def disk_full(
    checkpoint: CheckpointRepository,
    folder: str,
    needed_bytes: int | None = None,
    free_bytes: int = 0,
) -> SourceFailure:
    """Return the failure for a checkpoint that finds no room."""
    told = f"The disk that holds `{folder}` is full."
    if needed_bytes is not None:
        told = (
            f"The checkpoint needs {_gigabytes(needed_bytes)} and the disk that holds `{folder}` "
            f"has {_gigabytes(free_bytes)} free."
        )
    return of_machine(
        f"{code_prefix(checkpoint)}-DISK-FULL",
        told,
        "Free some space there, or point DATA_DIR at a larger disk, and retry; "
        "what was fetched so far is kept.",
    )


def of_configuration(
    code: str, sentence: str, field: str, hint: str, *, without: bool = False
) -> SourceFailure:
    """Return a failure that another value of the config mends; `without`, that none does too."""
    return _failure(code, Blame.CONFIGURATION, sentence, hint, field=field, without=without)


def of_checkpoint(code: str, sentence: str, hint: str, field: str = "repo") -> SourceFailure:
    """Return a failure that lies in the files themselves."""
    return _failure(code, Blame.CHECKPOINT, sentence, hint, field=field)


def of_machine(code: str, sentence: str, hint: str, detail: str | None = None) -> SourceFailure:
    """Return a failure of a network, a disk or a server."""
    return _failure(code, Blame.MACHINE, sentence, hint, detail=detail)


def code_prefix(checkpoint: CheckpointRepository) -> str:
    """Return how the codes of a source's failures begin."""
    return _PREFIXES[checkpoint.source]


def _repo(checkpoint: CheckpointRepository) -> str:
    return shown(checkpoint.repo)


def _failure(
    code: str,
    blame: Blame,
    sentence: str,
    hint: str,
    *,
    field: str | None = None,
    detail: str | None = None,
    without: bool = False,
) -> SourceFailure:
    place = None if field is None else f"{FIELD}.{field}"
    return SourceFailure(
        Failure(
            code=code,
            blame=blame,
            sentence=sentence,
            field=place,
            hint=hint,
            fix={place: None} if without and place else None,
            detail=detail,
        )
    )


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 10_000_000 else f"{count / 1e6:.2f} MB"
