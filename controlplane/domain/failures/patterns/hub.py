"""The Hugging Face hub, as its client's tracebacks tell of it."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import default_branch
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.registry import hub

_CLIENT = "huggingface_hub 2.4.0"

PATTERNS = (
    Pattern.of(
        hub.GATED,
        r"Cannot access gated repo for url (?P<url>\S+?)\.?(?:\s|$)",
        sentence="A file of {repo} is gated ({url}), and the owner of the token in secret "
        "`{secret}` has not been given access.",
        hint="Ask for access on the repository's page, then retry: what was fetched is kept.",
        field=fields.SECRET,
        text="Cannot access gated repo for url "
        "https://huggingface.co/api/models/ardent-figment/gated-model.",
        source=f"{_CLIENT}, errors.GatedRepoError",
    ),
    Pattern.of(
        hub.NOT_FOUND,
        r"(?:Repository Not Found for url: |Client error '404 Not Found' for url ')"
        r"(?P<url>[^\s']+?)['.]?(?:\s|$)",
        sentence="The hub has nothing at {url}, or the token in secret `{secret}` may not see it.",
        hint="Check the spelling of {repo}; for a private repository, store a token that may "
        "read it as the secret `{secret}`.",
        field=fields.REPO,
        text="Repository Not Found for url: https://huggingface.co/api/models/meta-lama/x.",
        source=f"{_CLIENT}, errors.RepositoryNotFoundError",
    ),
    Pattern.of(
        hub.REVISION,
        r"Revision Not Found for url: \S+",
        sentence="{repo} has no revision `{revision}`.",
        hint="Name a branch, tag or commit that the repository lists, or leave `revision` out.",
        field=fields.REVISION,
        fix=default_branch,
        text="Revision Not Found for url: "
        "https://huggingface.co/bert-base-cased/resolve/v9/config.json.",
        source=f"{_CLIENT}, errors.RevisionNotFoundError",
    ),
    log_pattern(
        "EHF-ENTRY",
        Blame.CHECKPOINT,
        r"Entry Not Found for url: (?P<url>\S+?)\.?(?:\s|$)",
        "A file that the build needs is not in the repository: {url}.",
        "Add the file to the repository, or name a revision that has it.",
        field=fields.REVISION,
        text="Entry Not Found for url: "
        "https://huggingface.co/bert-base-cased/resolve/main/tokenizer.model.",
        source=f"{_CLIENT}, errors.EntryNotFoundError",
    ),
    Pattern.of(
        hub.TOKEN,
        r"Client error '401 Unauthorized'|Invalid username or password|Invalid user token|"
        r"Invalid credentials in Authorization header",
        sentence="The hub does not accept the token in secret `{secret}`, asked for {repo}.",
        hint="Make a new token with read access and store it as the secret `{secret}`.",
        field=fields.SECRET,
        text="Invalid credentials in Authorization header",
        source=f"{_CLIENT}, with the message of the hub's answer",
    ),
    Pattern.of(
        hub.RATE_LIMIT,
        r"429 Too Many Requests",
        sentence="The hub allows no more requests for now (HTTP 429), asked for {repo}.",
        hint="Retry later, or store a token as the secret `{secret}`: it has a higher limit.",
        field=fields.SECRET,
        text="huggingface_hub.errors.HfHubHTTPError: 429 Too Many Requests for url: "
        "https://huggingface.co/api/models/Qwen/Qwen3-8B.",
        source=f"{_CLIENT}, utils._http.hf_raise_for_status",
    ),
    Pattern.of(
        hub.UNAVAILABLE,
        r"Server error '(?P<status>50[0-4]) [^'\n]*' for url",
        sentence="The hub answered HTTP {status} for {repo}.",
        hint="Retry later: what was fetched so far is kept.",
        text="huggingface_hub.errors.HfHubHTTPError: Server error '503 Service Unavailable' "
        "for url 'https://huggingface.co/api/models/Qwen/Qwen3-8B'",
        source=f"{_CLIENT}, utils._http.hf_raise_for_status",
    ),
    Pattern.of(
        hub.CORRUPT,
        r"Consistency check failed: file should be of size (?P<expected>\d+) "
        r"but has size (?P<found>\d+) \((?P<file>[^)\n]+)\)",
        sentence="`{file}` of {repo} arrived with {found} bytes where {expected} were expected.",
        hint="Retry. If it persists, a proxy or mirror between here and the hub cuts files short.",
        text="OSError: Consistency check failed: file should be of size 4976698672 but has "
        "size 4976590848 (model-00001-of-00004.safetensors).",
        source=f"{_CLIENT}, file_download.py",
    ),
    log_pattern(
        "EHF-XET",
        Blame.MACHINE,
        r"Data processing error: (?P<reason>[^\n]{1,200})",
        "The hub's large-file store (Xet) broke off while sending {repo}: {reason}",
        "Retry: what was fetched so far is kept. Where a firewall names its targets, the "
        "addresses under xethub.hf.co must be open too.",
        text="RuntimeError: Data processing error: CAS service error : Error : single flight "
        "error: Real call failed: CasObjectError(InternalIOError(Custom { kind: Other }))",
        source="huggingface/huggingface_hub#3036",
        checked="2025-04-29",
    ),
    log_pattern(
        "EHF-OFFLINE-MODE",
        Blame.MACHINE,
        r"outgoing traffic has been disabled|OfflineModeIsEnabled",
        "{subject} needed a file of the hub, and this machine is set to ask for none "
        "(HF_HUB_OFFLINE).",
        "Unset HF_HUB_OFFLINE for the build worker, or use a `LOCAL` checkpoint and an "
        "offline calibration set.",
        field=fields.SOURCE,
        text="huggingface_hub.errors.LocalEntryNotFoundError: Cannot find the requested files "
        "in the disk cache and outgoing traffic has been disabled.",
        source=f"{_CLIENT}, errors.LocalEntryNotFoundError",
    ),
)
