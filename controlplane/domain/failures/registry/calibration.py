from controlplane.domain.calibration_rows import FORMS_IN_WORDS
from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import configuration, machine

_OFFLINE_CHOICES = (
    "Offline, name one of these instead: a .jsonl or .parquet file in a folder of "
    "LOCAL_CHECKPOINT_ROOTS, a file uploaded as a set that the team keeps (`team/NAME`), or "
    "`enginehouse/general`, which ships with Enginehouse."
)

OFFLINE = machine(
    "EHC-OFFLINE",
    "{endpoint} cannot be reached from this machine, so the calibration data set `{name}` was not "
    "read, and nothing else is used in its place.",
    f"Check the network and HF_ENDPOINT, then retry. {_OFFLINE_CHOICES}",
    field=fields.DATASET,
)
UNAVAILABLE = machine(
    "EHC-UNAVAILABLE",
    "{endpoint} answered HTTP {status} for the calibration data set `{name}`.",
    f"Retry later. {_OFFLINE_CHOICES}",
    field=fields.DATASET,
)
BROKEN = machine(
    "EHC-BROKEN",
    "`{file}` of the calibration data set `{name}` did not arrive whole.",
    f"Retry. {_OFFLINE_CHOICES}",
    field=fields.DATASET,
)
NOT_FOUND = configuration(
    "EHC-NOT-FOUND",
    "{endpoint} has no data set `{name}`, or it is private.",
    "Check the spelling. For a private one, the secret named by `runtime_secret_name` must hold a "
    "token that may read it.",
    field=fields.DATASET,
)
REVISION = configuration(
    "EHC-REVISION",
    "The calibration data set `{name}` has no revision `{revision}`.",
    "Remove the part from `@` on, or name a branch, tag or commit.",
    field=fields.DATASET,
)
GATED = configuration(
    "EHC-GATED",
    "{endpoint} refused {sent} for the calibration data set `{name}`.",
    "Ask for access at {endpoint}/datasets/{name} and store a token of that account as the secret "
    "named by `runtime_secret_name`.",
    field=fields.DATASET,
)
NO_TOKEN = configuration(
    "EHC-GATED",
    "The secret named by `runtime_secret_name` holds no token, so the calibration data set "
    "`{name}` was not asked for: {reason}.",
    "Store the token itself, as the hub shows it.",
    field=fields.DATASET,
)
NO_TRAIN = configuration(
    "EHC-NO-TRAIN",
    "The calibration data set `{name}` has no `train` split of .parquet or .jsonl files.",
    "It holds {found}. Name a data set with a train split.",
    field=fields.DATASET,
)
CONFIG = configuration(
    "EHC-CONFIG",
    "The data set `{name}` has several configs: {configs}.",
    "Add one to the name, such as `{example}`.",
    field=fields.DATASET,
)
COLUMN = configuration(
    "EHC-COLUMN",
    "The calibration data set `{name}` has no column that builds read.",
    f"Its columns are {{columns}}. Save it with {FORMS_IN_WORDS}.",
    field=fields.DATASET,
)
PAIR = configuration(
    "EHC-COLUMN",
    "Row {row} of the calibration data set `{name}` {reason}.",
    f"Give each row {FORMS_IN_WORDS}.",
    field=fields.DATASET,
)
NO_TEMPLATE = configuration(
    "EHC-NO-TEMPLATE",
    "The calibration data set `{name}` has conversations (`{column}`), and the checkpoint's "
    "tokenizer has no chat template to write them with.",
    "Use a data set with a `text` column, or add chat_template.jinja to the checkpoint.",
    field=fields.DATASET,
)
TEMPLATE = configuration(
    "EHC-TEMPLATE",
    "The checkpoint's chat template refused row {row} of `{name}`: {reason}",
    'Each row\'s `messages` must be a list of {{"role", "content"}} that the template takes.',
    field=fields.DATASET,
)
ROW = configuration(
    "EHC-ROW",
    "Line {line} of `{file}` in the calibration data set `{name}` is no JSON object: {reason}.",
    f"Every line of a .jsonl file holds one object with {FORMS_IN_WORDS}.",
    field=fields.DATASET,
)
FILE = configuration(
    "EHC-FILE",
    "`{file}` of the calibration data set `{name}` cannot be read: {reason}.",
    "Data sets are read from .jsonl (UTF-8) and .parquet files.",
    field=fields.DATASET,
)
TOO_FEW = configuration(
    "EHC-TOO-FEW",
    "The calibration data set `{name}` gives {used} usable samples; at least {needed} are needed "
    "to calibrate on some and measure on others ({counted}).",
    "Name a larger data set; rows must be texts of a sentence or more.",
    field=fields.DATASET,
)
NAME = configuration(
    "EHC-NAME",
    "`{name}` names no calibration data set.",
    "Use `org/name` or `org/name:config@revision` of a hub, the path of a .jsonl or .parquet file, "
    "or `enginehouse/general`.",
    field=fields.DATASET,
)
NO_SET = configuration(
    "EHC-NO-SET",
    "The team has no calibration set `{name}`.",
    "It was deleted, or is called otherwise: see Calibration data. Upload it again, or name "
    "another data set.",
    field=fields.DATASET,
)
OUTSIDE_ROOTS = configuration(
    "EHC-OUTSIDE-ROOTS",
    "The calibration file `{name}` lies outside the folders that this server reads.",
    "Folders of LOCAL_CHECKPOINT_ROOTS: {opened}. Move it there, or upload it.",
    field=fields.DATASET,
)
MISSING = configuration(
    "EHC-MISSING",
    "The calibration file `{name}` does not exist on the build machine.",
    "Check the path; the file must be there on every build worker of the pool.",
    field=fields.DATASET,
)
CHANGED = configuration(
    "EHC-CHANGED",
    "The data set `{name}` changed since this build began: it was `{expected}` and is `{found}`.",
    "Start a new build: it takes the data as they are now.",
    field=fields.DATASET,
)
NO_ANSWERS = configuration(
    "EHC-NO-ANSWERS",
    "The set `{name}` does not tell what was asked from what was answered, so nothing can be "
    "drafted for its answers.",
    "Its columns are {columns}. Upload rows with `prompt` and `completion`, or `messages` with "
    "turns of the `assistant`.",
)
NOTHING_ANSWERED = configuration(
    "EHC-NO-ANSWERS",
    "The set `{name}` has no answer of two tokens or more.",
    "Upload rows with `prompt` and `completion`, or `messages` with turns of the `assistant`.",
)
TUNING_LOST = machine(
    "EHC-TUNING-LOST",
    "The build worker was lost {times} times while it simulated lookahead.",
    "Look at the build worker's log, then ask again.",
)
TUNING_SLOW = machine(
    "EHC-TUNING-SLOW",
    "The simulation was not done after {minutes:.0f} minutes.",
    "Take fewer conversations: a thousand tell enough.",
)
SAMPLES_REVOKED = configuration(
    "EHC-SAMPLES-REVOKED",
    "The team's consent to sampling was taken back before its samples were replayed.",
    "Tune on an uploaded set, or consent again.",
)
SAMPLES_EMPTY = configuration(
    "EHC-SAMPLES-EMPTY",
    "No answer was left to replay: what the gateways held was deleted, or nothing of it was text.",
    "Ask again once the model's traffic has brought samples.",
)
SAMPLES_UNREPORTED = machine(
    "EHC-SAMPLES-UNTOLD",
    "No gateway reported what it found in its samples.",
    "Look at the gateways' logs, then ask again.",
)
SAMPLES_SLOW = machine(
    "EHC-SAMPLES-SLOW",
    "A gateway's host was too busy to replay its samples in time.",
    "Ask again at a quiet hour, or tune on an uploaded set.",
)
SAMPLES_UNCOMPILED = machine(
    "EHC-SAMPLES-UNCOMPILED",
    "The gateway's Python has no numba, which compiles the drafter.",
    "Install the extra on its host: `pip install 'enginehouse[tuning]'`.",
)
PREVIEW_LOST = machine(
    "EHC-PREVIEW-LOST",
    "The build worker was lost {times} times while it made this preview.",
    "Look at the build worker's log, then ask again.",
)
PREVIEW_SLOW = machine(
    "EHC-PREVIEW-SLOW",
    "The preview was not ready after {minutes:.0f} minutes.",
    "A slow hub or a large archive takes longer than a preview waits; a build does wait.",
)
