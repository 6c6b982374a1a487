"""The capability tables -> docs/runtimes.md."""

from collections.abc import Iterator, Sequence
from itertools import repeat

from controlplane.domain.facts.gpus import CPU
from controlplane.domain.runtimes import RUNTIMES, Runtime
from controlplane.domain.runtimes.capability import Capability, Feature, Proof
from controlplane.domain.runtimes.pairs import EVERYWHERE, Pair
from controlplane.domain.runtimes.runtime import capability_of

_DEVICES = ("T4", "V100", "A100", "L4", "H100", "B200", "RTX_PRO_6000")
"""One of each kind that differs."""
_HEAD = """\
# Runtimes

What each runtime can do, per version and kind of GPU. Written by `manage.py
write_runtime_reference` from the tables that the checks read; do not edit.

**native**: as asked. **emulated**: the same result by other means. **untested**: one of the two by
its source and documents, and not seen to run by us on such a GPU. **refused**: not at all. Every
*native* and *emulated* names a run that is kept, or a test that runs it, below its table.

| Runtime | Versions | Started | Run by us |
|---|---|---|---|
"""
_AFTER = """
**`enginehouse.runtime: auto`**, as in a config that names none, means the native engine without an
accelerator. With one it means a runtime that the hosts of the config's pool start on that GPU: for
text the first of vLLM, the native engine and TensorRT-LLM; for vectors and scores the native
engine, or vLLM first where the weights are quantized. What cannot take the GPU, its number or the
model is passed over. The choice and its reason stand with the config before the build, among the
effective values, and a build keeps it. Where no host was asked (`manage.py check_config`) or has
such a GPU, the first is planned for; EH690 says where nothing can be started.

A config is rendered for each of them, whichever is started here: limits, precision, parallelism,
drafts, adapters and engine arguments, or a sentence that says why a setting has no effect. Of the
v2 stack's `patch_kwargs`, TensorRT-LLM is told what its version takes and vLLM what it has a flag
for; a check lists the others. vLLM is also told which of its parsers reads the tool calls and the
reasoning that the checkpoint's chat template teaches, unless the config names one, and what
`enginehouse.vllm_args` passes on ([commands](commands.md)). The argument parsers of all releases of
vLLM named above have read the commands of our tests: they differ in the parsers of tool calls and
reasoning that they have.

**TensorRT-LLM is not yet run by us.** Its driver was written from its source and documents, and
every file that it writes is held to the names and types of its arguments. Whoever has an H100 can
run `benchmarks/gpu/trtllm.sh` and send the result.

**Metrics.** The numbers on the pages come from the engine under these names:

"""

_NEWER = """
Other versions were not run: what is untested or native here is untested there. From vLLM 0.27 on
FP8 weights are expanded on GPUs of compute capability 8.0 and 8.6 too.
"""
_PAIRS = """
## Two features together

A pair that is not named here is as the weaker of its two features. What is refused here is an error
of the checks (EH310, EH415, EH707), what is untested a warning (EH664); a feature that is refused
by itself is an error with every other one (EH663, and those of GPUs and precisions).

| Runtime | Versions | Feature | with | | How, or why not | Source |
|---|---|---|---|---|---|---|
"""


def write_reference() -> str:
    parts = [_HEAD, *map(_row, RUNTIMES.values()), _AFTER, *_metrics()]
    for runtime in RUNTIMES.values():
        if runtime.needs_gpu:
            parts += [_title(runtime), *_table(runtime), *_proofs(runtime)]
            parts += runtime.tables_by_class(_DEVICES)
    parts.append(_NEWER)
    for runtime in RUNTIMES.values():
        if not runtime.needs_gpu:
            parts += [_title(runtime), *_table_with_cpu(runtime), *_proofs(runtime)]
    parts += [_PAIRS, *map(_pair_row, EVERYWHERE, repeat("all"))]
    parts += [_pair_row(pair, runtime.title, runtime.capabilities.VERSIONS)
              for runtime in RUNTIMES.values() for pair in runtime.pairs]  # fmt: skip
    return "".join(parts)


def _pair_row(pair: Pair, title: str, versions: Sequence[str] = ()) -> str:
    one, other = pair.features
    source = f"{pair.source.document}, {pair.source.section}, {pair.source.checked}"
    holding = [version for version in versions if pair.holds_in(version, versions)]
    span = "all" if holding == list(versions) else f"{holding[0]} to {holding[-1]}"
    return f"| {title} | {span} | {one} | {other} | {pair.support} | {pair.how} | {source} |\n"


def _row(runtime: Runtime) -> str:
    versions = ", ".join(runtime.capabilities.VERSIONS)
    return f"| `{runtime.name}` | {versions} | {runtime.started} | {runtime.run_by_us} |\n"


def _title(runtime: Runtime) -> str:
    title = runtime.title[:1].upper() + runtime.title[1:] if runtime.is_built_in else runtime.title
    return f"\n## {title} {runtime.capabilities.SEEN_VERSION}\n\n"


def _metrics() -> Iterator[str]:
    runtimes = RUNTIMES.values()
    yield f"| Ours | {' | '.join(runtime.label for runtime in runtimes)} |\n"
    yield "|---" * (len(runtimes) + 1) + "|\n"
    tables = [{ours: theirs for theirs, ours in {**m.PLAIN, **m.HISTOGRAMS}.items()}
              for m in (runtime.metrics for runtime in runtimes)]  # fmt: skip
    since = {name: version for runtime in runtimes for name, version in
             runtime.metrics.SINCE.items()}  # fmt: skip
    for name in sorted({name for table in tables for name in table}):
        cells = (f"`{table[name]}`" if name in table else "–" for table in tables)
        added = f" (since {since[name]})" if name in since else ""
        yield f"| `{name}` | {' | '.join(cells)}{added} |\n"


def _table(runtime: Runtime) -> Iterator[str]:
    yield f"| Feature | {' | '.join(_DEVICES)} | How, or why not | Source |\n"
    yield "|---" * (len(_DEVICES) + 3) + "|\n"
    for feature in Feature:
        capabilities = [capability_of(runtime, feature, kind) for kind in _DEVICES]
        values = " | ".join(each.support.value for each in capabilities)
        yield f"| {feature.value} | {values} | {_how(capabilities)} | {_source(capabilities)} |\n"


def _proofs(runtime: Runtime) -> Iterator[str]:
    """Yield what each feature was seen by; versions and GPUs that are not named were not run."""
    if not runtime.proofs.PROOFS:
        yield "\nNothing of it was seen by us.\n"
        return
    yield "\nSeen by, and in no other version or on no other kind of GPU:\n\n"
    for feature, proofs in runtime.proofs.PROOFS.items():
        yield f"- {feature.value}: {', '.join(map(_proof_words, proofs))}\n"


def _proof_words(proof: Proof) -> str:
    device = "CPU" if proof.compute_capability is None else "H100 or H200"
    value = f" (`{proof.shows}`)" if proof.shows else ""
    return f"`{proof.kept}`{value}, {proof.version}, {device}"


def _table_with_cpu(runtime: Runtime) -> Iterator[str]:
    devices = (CPU, *_DEVICES)
    yield f"| Feature | {' | '.join(devices)} | How, or why not |\n"
    yield "|---" * (len(devices) + 2) + "|\n"
    for feature in Feature:
        capabilities = [capability_of(runtime, feature, kind) for kind in devices]
        values = " | ".join(each.support.value for each in capabilities)
        yield f"| {feature.value} | {values} | {_how(capabilities)} |\n"


def _how(capabilities: list[Capability]) -> str:
    """Return each different way once; GPUs that the runtime is not for say so in one row."""
    too_old = {
        each.how for each in capabilities if each.how.startswith("it needs compute capability")
    }
    ways = dict.fromkeys(each.how for each in capabilities if each.how not in too_old)
    return "; ".join(ways)


def _source(capabilities: list[Capability]) -> str:
    working = next((each for each in capabilities if not each.is_refused), capabilities[-1])
    source = working.source
    return f"{source.document}, {source.section}, {source.checked}" if source else ""
