"""What reading calibration text can fail with; each says what else to name."""

from collections.abc import Sequence

from controlplane.domain.failures import Blame, Failure
from controlplane.sources.bearer import NO_TOKEN
from workers.build_steps.failures import StepFailure, of_machine

FIELD = "trt_llm.build.quantization_config.calib_dataset"
OFFLINE_CHOICES = (
    "Offline, name one of these instead: a .jsonl or .parquet file in a folder of "
    "LOCAL_CHECKPOINT_ROOTS, a file uploaded as a set that the team keeps (`team/NAME`), or "
    "`enginehouse/general`, which ships with Enginehouse."
)


def offline(name: str, endpoint: str, detail: str) -> StepFailure:
    """Return the failure for a hub that cannot be reached."""
    return of_machine(
        "EHC-OFFLINE",
        f"{endpoint} cannot be reached from this machine, so the calibration data set `{name}` "
        "was not read, and nothing else is used in its place.",
        field=FIELD,
        hint=f"Check the network and HF_ENDPOINT, then retry. {OFFLINE_CHOICES}",
        detail=detail,
    )


def unavailable(name: str, endpoint: str, status: int) -> StepFailure:
    """Return the failure for a hub that answers with an error of its own."""
    return of_machine(
        "EHC-UNAVAILABLE",
        f"{endpoint} answered HTTP {status} for the calibration data set `{name}`.",
        field=FIELD,
        hint=f"Retry later. {OFFLINE_CHOICES}",
    )


def broken_off(name: str, path: str) -> StepFailure:
    """Return the failure for a file that did not arrive whole."""
    return of_machine(
        "EHC-BROKEN",
        f"`{path}` of the calibration data set `{name}` did not arrive whole.",
        field=FIELD,
        hint=f"Retry. {OFFLINE_CHOICES}",
    )


def not_found(name: str, endpoint: str) -> StepFailure:
    """Return the failure for a data set that is not there, or not for us."""
    return _configuration(
        "EHC-NOT-FOUND",
        f"{endpoint} has no data set `{name}`, or it is private.",
        "Check the spelling. For a private one, the secret named by `runtime_secret_name` must "
        "hold a token that may read it.",
    )


def missing_revision(name: str, revision: str) -> StepFailure:
    """Return the failure for a revision that the data set does not have."""
    return _configuration(
        "EHC-REVISION",
        f"The calibration data set `{name}` has no revision `{revision}`.",
        "Leave the part from `@` on away, or name a branch, tag or commit.",
    )


def refused(name: str, endpoint: str, *, has_token: bool) -> StepFailure:
    """Return the failure for a gated data set, or a token that the hub refuses."""
    sent = "the token of this config" if has_token else "a request without a token"
    return _configuration(
        "EHC-GATED",
        f"{endpoint} refused {sent} for the calibration data set `{name}`.",
        f"Ask for access at {endpoint}/datasets/{name} and store a token of that account as the "
        "secret named by `runtime_secret_name`.",
    )


def no_token(name: str) -> StepFailure:
    """Return the failure for a secret that can be no token, whatever the hub."""
    return _configuration(
        "EHC-GATED",
        f"The secret named by `runtime_secret_name` holds no token, so the calibration data set "
        f"`{name}` was not asked for: {NO_TOKEN}.",
        "Store the token itself, as the hub shows it.",
    )


def no_train_split(name: str, found: Sequence[str]) -> StepFailure:
    """Return the failure for a data set without readable training rows."""
    return _configuration(
        "EHC-NO-TRAIN",
        f"The calibration data set `{name}` has no `train` split of .parquet or .jsonl files.",
        f"It holds {_listed(found)}. Name a data set with a train split.",
    )


def which_config(name: str, configs: Sequence[str]) -> StepFailure:
    """Return the failure for a data set of several configs, none of them named rightly."""
    return _configuration(
        "EHC-CONFIG",
        f"The data set `{name}` has several configs: {_listed(configs)}.",
        f"Add one to the name, such as `{name.partition(':')[0]}:{configs[0]}`.",
    )


def no_column(name: str, columns: Sequence[str]) -> StepFailure:
    """Return the failure for rows without text."""
    return _configuration(
        "EHC-COLUMN",
        f"The calibration data set `{name}` has neither a `text` nor a `messages` column.",
        f"Its columns are {_listed(columns)}. Save it with one of the two.",
    )


def no_template(name: str) -> StepFailure:
    """Return the failure for conversations that the model has no form for."""
    return _configuration(
        "EHC-NO-TEMPLATE",
        f"The calibration data set `{name}` has a `messages` column, and the checkpoint's "
        "tokenizer has no chat template to write conversations with.",
        "Use a data set with a `text` column, or add chat_template.jinja to the checkpoint.",
    )


def template_failed(name: str, row: int, reason: str) -> StepFailure:
    """Return the failure for a conversation that the template refuses."""
    return _configuration(
        "EHC-TEMPLATE",
        f"The checkpoint's chat template refused row {row} of `{name}`: {reason}",
        'Each row\'s `messages` must be a list of {"role", "content"} that the template takes.',
    )


def bad_row(name: str, path: str, line: int, reason: str) -> StepFailure:
    """Return the failure for a line that is no JSON object."""
    return _configuration(
        "EHC-ROW",
        f"Line {line} of `{path}` in the calibration data set `{name}` is no JSON object: "
        f"{reason}.",
        "Every line of a .jsonl file holds one object with `text` or `messages`.",
    )


def bad_file(name: str, path: str, reason: str) -> StepFailure:
    """Return the failure for a file that cannot be opened as what its name says."""
    return _configuration(
        "EHC-FILE",
        f"`{path}` of the calibration data set `{name}` cannot be read: {reason}.",
        "Data sets are read from .jsonl (UTF-8) and .parquet files.",
    )


def too_few(name: str, used: int, needed: int, counted: str) -> StepFailure:
    """Return the failure for a data set with next to nothing in it."""
    return StepFailure(
        Failure(
            code="EHC-TOO-FEW",
            blame=Blame.CONFIGURATION,
            sentence=f"The calibration data set `{name}` gives {used} usable samples; at least "
            f"{needed} are needed to calibrate on some and measure on others ({counted}).",
            field=FIELD,
            hint="Name a larger data set; rows must be texts of a sentence or more.",
        )
    )


def unreadable_name(name: str) -> StepFailure:
    """Return the failure for a name of no known form."""
    return _configuration(
        "EHC-NAME",
        f"`{name}` names no calibration data set.",
        "Use `org/name` or `org/name:config@revision` of a hub, the path of a .jsonl or .parquet "
        "file, or `enginehouse/general`.",
    )


def no_kept_set(name: str) -> StepFailure:
    """Return the failure for a set that the team does not have, or has no more."""
    return _configuration(
        "EHC-NO-SET",
        f"The team has no calibration set `{name}`.",
        "It was deleted, or is called otherwise: see Calibration data. Upload it again, or name "
        "another data set.",
    )


def outside_roots(name: str, roots: Sequence[str]) -> StepFailure:
    """Return the failure for a path that the operator has not opened."""
    opened = _listed(roots) if roots else "none"
    return _configuration(
        "EHC-OUTSIDE-ROOTS",
        f"The calibration file `{name}` lies outside the folders that this server reads.",
        f"Folders of LOCAL_CHECKPOINT_ROOTS: {opened}. Move it there, or upload it.",
    )


def missing_file(name: str) -> StepFailure:
    """Return the failure for a path with nothing at it."""
    return _configuration(
        "EHC-MISSING",
        f"The calibration file `{name}` does not exist on the build machine.",
        "Check the path; the file must be there on every build worker of the pool.",
    )


def changed(name: str, expected: str, found: str) -> StepFailure:
    """Return the failure for a data set that is another one than when the build began."""
    return StepFailure(
        Failure(
            code="EHC-CHANGED",
            blame=Blame.CONFIGURATION,
            sentence=f"The data set `{name}` changed since this build began: it was "
            f"`{expected[:19]}` and is `{found[:19]}`.",
            field=FIELD,
            hint="Start a new build: it takes the data as they are now.",
        )
    )


def _configuration(code: str, sentence: str, hint: str) -> StepFailure:
    return StepFailure(
        Failure(code=code, blame=Blame.CONFIGURATION, sentence=sentence, field=FIELD, hint=hint)
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:8])
    return (f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown) or "nothing"
