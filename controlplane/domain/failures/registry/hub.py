from controlplane.domain.failures import fields
from controlplane.domain.failures.kind import checkpoint, configuration, machine

_KEPT = "Retry later: what was fetched so far is kept."
_ASK_FOR_ACCESS = (
    "Ask for access at {endpoint}/{repo}, store a token of that account as the secret `{secret}`, "
    "and list `{secret}` under `secrets`."
)
_SPELLING = (
    "Check the spelling. For a private repository, store a token that may read it as the secret "
    "`{secret}` and list it under `secrets`."
)
_NEW_TOKEN = (
    "Make a new token with read access at {endpoint}/settings/tokens and store it as the secret "
    "`{secret}`."
)

GATED = configuration(
    "EHF-GATED",
    "`{repo}` is gated and the owner of the token in secret `{secret}` has not been given access.",
    _ASK_FOR_ACCESS,
    field=fields.SECRET,
)
GATED_WITHOUT_TOKEN = configuration(
    "EHF-GATED",
    "`{repo}` is gated and no token was sent: `{secret}` is not a stored secret that the config "
    "lists.",
    _ASK_FOR_ACCESS,
    field=fields.SECRET,
)
NOT_FOUND = configuration(
    "EHF-NOT-FOUND",
    "{endpoint} has no repository `{repo}`, or the token in secret `{secret}` may not see it.",
    _SPELLING,
    field=fields.REPO,
)
NOT_FOUND_WITHOUT_TOKEN = configuration(
    "EHF-NOT-FOUND",
    "{endpoint} has no repository `{repo}`, or it is private and no token was sent: `{secret}` is "
    "not a stored secret that the config lists.",
    _SPELLING,
    field=fields.REPO,
)
REVISION = configuration(
    "EHF-REVISION",
    "`{repo}` has no revision `{revision}`.",
    "Name a branch, tag or commit listed at {endpoint}/{repo}/commits/main.",
    field=fields.REVISION,
)
TOKEN = configuration(
    "EHF-TOKEN",
    "{endpoint} refused {sent} for `{repo}` (HTTP {status}).",
    _NEW_TOKEN,
    field=fields.SECRET,
)
NO_TOKEN = configuration(
    "EHF-TOKEN",
    "The secret `{secret}` holds no token: {reason}.",
    "Store the token itself, as {endpoint}/settings/tokens shows it, as the secret `{secret}`.",
    field=fields.SECRET,
)
OFFLINE = machine(
    "EHF-OFFLINE",
    "{endpoint} cannot be reached from this machine, so `{repo}` was not fetched.",
    "Check the network and HF_ENDPOINT, or copy the checkpoint into a folder of "
    "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
)
TIMEOUT = machine(
    "EHF-TIMEOUT",
    "{endpoint} stopped answering while `{repo}` was being fetched.",
    "Retry: what was fetched so far is kept. If it persists, check the network and proxy.",
)
RATE_LIMIT = machine(
    "EHF-RATE-LIMIT",
    "{endpoint} allows no more requests for now (HTTP 429), asked for `{repo}`.",
    "Retry later, or store a token as the secret `{secret}`: it has a higher limit.",
)
UNAVAILABLE = machine("EHF-UNAVAILABLE", "{endpoint} answered HTTP {status} for `{repo}`.", _KEPT)
NOT_A_HUB = machine(
    "EHF-NOT-A-HUB",
    "{endpoint} does not answer like a Hugging Face hub when asked for `{repo}`.",
    "Check HF_ENDPOINT, and whether a proxy or sign-in page answers in the hub's place.",
)
BROKEN = machine(
    "EHF-BROKEN",
    "{endpoint} broke off while sending `{file}` of `{repo}`, several times.",
    "Retry: what was fetched so far is kept.",
)
CORRUPT = machine(
    "EHF-CORRUPT",
    "`{file}` of `{repo}` arrived as something else than {endpoint} lists: `{found}` where "
    "`{expected}` was expected.",
    "Retry. If it persists, a proxy or mirror between here and the hub alters files.",
)
CHANGED = checkpoint(
    "EHF-CHANGED",
    "`{repo}` changed while it was being fetched: {what}.",
    "Check the config again, then build: the history was probably rewritten.",
    field=fields.REVISION,
)
TOO_LARGE = checkpoint(
    "EHF-TOO-LARGE",
    "`{file}` of `{repo}` is larger than the 50 GB that {endpoint} sends in one piece.",
    "Save the model again in shards (save_pretrained does so), or copy it into a folder of "
    "LOCAL_CHECKPOINT_ROOTS and use source `LOCAL`.",
    field=fields.REPO,
)
