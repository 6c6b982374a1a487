from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine, ours

NO_CHECKPOINT = configuration(
    "EHB-NO-CHECKPOINT",
    "The config names no checkpoint to build from.",
    "Add `checkpoint_repository` with `source` and `repo`.",
    field=fields.REPOSITORY,
)
BLOCKED = configuration(
    "EHB-BLOCKED",
    "The fetched checkpoint cannot be built with this config. {reasons}",
    "Change the config as the findings say, then build again.",
)
CONFIG_UNFIT = checkpoint(
    "EHB-CONFIG-UNFIT",
    "`{architecture}` cannot be made of this config.json: {reason}",
    "Repair config.json, or name a revision in which it and the weights belong together.",
    field=fields.REPO,
)
TENSOR_MISSING = checkpoint(
    "EHB-TENSOR-MISSING",
    "The checkpoint has no tensor {tensors}, which `{architecture}` needs with this config.json; "
    "an engine would invent it.",
    "Save or upload the weights again, or name a revision in which config.json and weights belong "
    "together.",
    field=fields.REPO,
)
TENSOR_BEYOND = checkpoint(
    "EHB-TENSOR-BEYOND",
    "The checkpoint has {tensors}, and `{architecture}` with this config.json ends before: another "
    "model would answer.",
    "Repair the numbers of layers and experts in config.json, or name a revision in which it and "
    "the weights belong together.",
    field=fields.REPO,
)
SHAPE = checkpoint(
    "EHP-SHAPE",
    "The weights do not have the shapes that config.json gives: `{name}` is {stored} and should be "
    "{wanted}.",
    "Use a revision in which config.json and weights belong together.",
    field=fields.REPO,
)
NOT_FINITE = checkpoint(
    "EHB-NOT-FINITE",
    "The tensor {held}.",
    "Training diverged or the file is damaged: save the weights again, or name an earlier "
    "revision.",
    field=fields.REPO,
)
OUTPUT_CHANGED = machine(
    "EHB-OUTPUT-CHANGED",
    "The output of step `{step}` has changed on disk: `{name}` differs.",
    "Check the disk that holds DATA_DIR and retry: the step is done again.",
)
NOT_MEASURED = machine(
    "EHB-OUTPUT-CHANGED",
    "`{name}` is not the file that the quality gate looked at.",
    "Retry: the gate looks at what is there now.",
)
DISK_FULL = machine(
    "EHB-DISK-FULL",
    "The disk that holds `{folder}` is full.",
    "Free some space there, or point DATA_DIR at a larger disk, and retry.",
)
NO_RUNTIME = machine(
    "EHB-NO-RUNTIME",
    "This build worker cannot start the runtime `{runtime}` for the smoke test.",
    "Build in a pool whose workers have it (`VLLM_PYTHON` or `VLLM_IMAGE`, `TRTLLM_PYTHON` or "
    "`TRTLLM_IMAGE` name it), or set `enginehouse.runtime: native`.",
    field=fields.RUNTIME,
)
RUNTIME_VERSION = machine(
    "EHB-RUNTIME-VERSION",
    "This build worker has `{runtime}` {version}, which is not known here.",
    "Install one of {known} on its host, or a newer Enginehouse.",
    field=fields.RUNTIME,
)
ENGINE_SLOW = machine(
    "EHB-ENGINE-SLOW",
    "The engine was not ready after {seconds:.0f} seconds.",
    "Look at the log for what it was doing; a busy machine needs longer.",
)
TEMPLATE = checkpoint(
    "EHB-TEMPLATE",
    "The checkpoint's chat template refuses a conversation of one question: {reason}",
    "Repair chat_template.jinja (or `chat_template` in tokenizer_config.json) in the checkpoint; "
    "without one the model is served for plain prompts.",
    field=fields.REPO,
)
BAD_ANSWER = ours(
    "EHB-BAD-ANSWER",
    "The engine started and did not answer the test question: {reason}.",
    "The checkpoint's chat template or weights may be damaged; the log says more.",
)
NO_GPUS = machine(
    "EHB-NO-CARDS",
    "Step `{step}` got no room{waited}. {reason}",
    "Build in a pool whose machines have such GPUs, or ask for what this one has.",
    meaning="The pool has no such GPUs at all.",
)
GPU_IN_USE = machine(
    "EHB-CARD-IN-USE",
    "Step `{step}` got no room{waited}. {reason}",
    "End what uses the GPU, or take the GPU out of the pool, then retry.",
    meaning="Someone else stayed on the GPUs.",
)
NO_ROOM = machine(
    "EHB-NO-ROOM",
    "Step `{step}` got no room{waited}. {reason}",
    "Stop a replica or another build on this node, then retry.",
    meaning="GPUs or memory stayed taken.",
)
NODE_SILENT = machine(
    "EHB-NODE-SILENT",
    "Step `{step}` got no room{waited}. {reason}",
    "Start the agent of this node, or see why it cannot reach the control plane, then retry.",
    meaning="The build worker's node does not report.",
)
SECRET = configuration(
    "EHB-SECRET",
    "The team has no secret named `{name}`, which this config needs.",
    "Add a secret named `{name}`, then retry.",
)
SECRET_UNREADABLE = machine(
    "EHB-SECRET-UNREADABLE",
    "{message}",
    "{advice}",
    meaning="A secret is sealed under a key that the web hosts no longer have. Store its value "
    "anew, or restore the key ring, then retry.",
)
SECRETS_REFUSED = ours(
    "EHB-SECRETS-REFUSED",
    "The control plane did not hand out this build's secrets.",
    "Retry the build.",
)
CONTROL_PLANE = machine(
    "EHB-CONTROL-PLANE",
    "The control plane at `{address}` did not answer for {seconds:.0f} seconds, so the build's "
    "secrets could not be read.",
    "Check that the web process runs and that CONTROL_PLANE_URL of the build worker names it, then "
    "retry.",
)
CONTROL_PLANE_OF_PREVIEW = machine(
    "EHB-CONTROL-PLANE",
    "The control plane at `{address}` did not hand out the secrets of this preview.",
    "Check that the web process runs and that CONTROL_PLANE_URL of the build worker names it, then "
    "ask again.",
)
UNSTORABLE = ours(
    "EHB-UNSTORABLE",
    "The build failed, and the database refused what its step said of the cause.",
    "Read the log of the step that failed, and the build worker's log.",
)
WORKER_LOST = machine(
    "EHB-WORKER-LOST",
    "The build worker was lost {times} times while it did this build.",
    "Read the build worker's log and the kernel's (`dmesg`: memory may have run out on that host), "
    "then retry: finished steps are kept.",
)
INTERNAL = ours(
    "EHB-INTERNAL",
    "The build worker broke: {error}.",
    "Retry the build; if it happens again, report it with the worker's log.",
)
CRASHED = ours(
    "EHB-CRASHED",
    "{subject} {ending}{raised}, and what it printed is no failure that is known here.",
    "The last lines of its log are below. Retry; if it persists, download the support bundle and "
    "report it.",
)
