from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine, ours

SOURCES = ("EHF", "EHL", "ES3", "EGC", "EAZ", "EUR")
"""How codes of checkpoint sources begin: hub, local folder, S3, Google, Azure, address."""

NOT_A_CHECKPOINT = checkpoint(
    "NOT-A-CHECKPOINT",
    "`{repo}` is not a checkpoint: it has no {missing}.",
    "Name a repository with `config.json`, safetensors weights and tokenizer files at its top "
    "level.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
GGUF = checkpoint(
    "GGUF",
    "`{repo}` holds GGUF files only (`{file}`), which no runtime here reads.",
    "Name the repository that they were made from, with `config.json` and safetensors.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
PICKLED_WEIGHTS = checkpoint(
    "PICKLED-WEIGHTS",
    "The weights of `{repo}` are pickles (`{file}`), which can run code when they are loaded; "
    "they are not fetched.",
    "Convert them to safetensors (load the model with transformers, then save_pretrained), or "
    "name a revision that has safetensors.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
INCOMPLETE = checkpoint(
    "INCOMPLETE",
    "`{repo}` lacks {count} of its weight files, `{file}` first.",
    "Upload the missing files, or name a revision that is complete.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
NAME_OUTSIDE = checkpoint(
    "NAME",
    "`{repo}` lists a file named `{name}`, which could lead outside its folder.",
    "Rename or remove that file.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
NAME_UNREADABLE = checkpoint(
    "NAME",
    "`{repo}` lists a file named `{name}`, which is not text in UTF-8.",
    "Rename or remove that file.",
    field=fields.REPO, of=SOURCES,
)  # fmt: skip
_MORE_ROOM = (
    "Free some space there, or point DATA_DIR at a larger disk, and retry; what was fetched so "
    "far is kept."
)
DISK_FULL = machine(
    "DISK-FULL", "The disk that holds `{folder}` is full.", _MORE_ROOM, of=SOURCES
)  # fmt: skip
DISK_TOO_SMALL = machine(
    "DISK-FULL",
    "The checkpoint needs {needed} and the disk that holds `{folder}` has {free} free.",
    _MORE_ROOM, of=SOURCES,
)  # fmt: skip
BAD_FILE = checkpoint(
    "EHS-BAD-FILE",
    "`{file}` of `{checkpoint}` cannot be read: {reason}.",
    "Repair or upload that file again.",
    field=fields.REPO,
)
HOSTED_TRAINING = configuration(
    "EHS-HOSTED-TRAINING",
    "`{repo}` is a training project of the hosted product (`BASETEN_TRAINING`), which no other "
    "host can read.",
    "Export the checkpoint from the training job, then upload it to a bucket and use `S3`, or "
    "copy it into one of the folders of LOCAL_CHECKPOINT_ROOTS and use `LOCAL`.",
    field=fields.SOURCE,
)
ADAPTER = configuration(
    "EHB-ADAPTER",
    "The adapter `{name}` cannot be served. {reason}",
    "Change the adapter or its limits as the sentence says, then build again.",
)
TOO_LONG = configuration(
    "EHS-TOO-LONG",
    "`{name}` of the checkpoint has more than {longest} characters.",
    "Name the repository as its source does.",
)
UNREADABLE = ours(
    "EHS-UNREADABLE",
    "The files of `{repo}` could not be read.",
    "The log of the control worker has the cause.",
)
GIVEN_UP = ours(
    "EHS-GIVEN-UP",
    "Reading this checkpoint was begun {times} times and never ended.",
    "The log of the control worker says why. It is tried again when the config is checked in a "
    "minute or later.",
)
NO_SECRET = machine(
    "EHS-SECRET",
    "The secret for this checkpoint could not be had from the control plane.",
    "`{address}` must answer; it is tried again in a minute.",
)
