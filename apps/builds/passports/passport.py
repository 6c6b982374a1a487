from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.builds.models import Artifact
from apps.builds.panels.gate import gate_words
from apps.ui import formats
from controlplane.domain.passport import (
    CalibratedOn,
    GrantedCode,
    KeptLayers,
    Passport,
    Quantized,
)

_NAMED_LAYERS = 6
"""That stay in 16 bits; of more the page says how many, and the passport which."""
_FIGURE_WORDS = {"least_cosine": "least cosine", "changed": "share of changed answers"}


@dataclass(frozen=True, kw_only=True)
class PassportRow:
    label: str
    value: str
    shown: str = ""
    copies: bool = False


def passport_rows(
    artifact: Artifact, *, with_calibration: bool = True, with_gate: bool = True
) -> Sequence[PassportRow]:
    """Return the passport's facts in the order that answers: from what, by what, how well.

    A page that shows calibration or gate by themselves leaves them out here.
    """
    passport = Passport.model_validate(artifact.passport)
    rows = [
        PassportRow(
            label="Inputs",
            value=artifact.input_digest,
            shown=short_digest(artifact.input_digest),
            copies=True,
        ),
        *checkpoint_rows(passport),
        *adapter_rows(passport),
    ]
    if tools := passport.tools:
        named = [f"{name} {version}" for name, version in sorted(tools.items()) if version]
        rows.append(PassportRow(label="Tools", value=", ".join(named)))
    if words := quantized_words(passport):
        rows.append(PassportRow(label="Quantized", value=words))
    if with_calibration:
        rows += calibration_rows(passport)
    if with_gate and passport.gate:
        rows.append(PassportRow(label="Quality gate", value=gate_words(passport.gate)))
    if passport.remote_code:
        words = remote_code_words(passport.remote_code)
        rows.append(PassportRow(label="Remote code", value=words))
    if promoted := passport.promoted:
        by = promoted.by or "an API key"
        rows.append(PassportRow(label="Promoted", value=f"by {by}: {promoted.reason}"))
    return rows


def checkpoint_rows(passport: Passport) -> Iterator[PassportRow]:
    if repo := passport.checkpoint.repo:
        yield PassportRow(label="Checkpoint", value=repo, shown=repo, copies=True)
    if commit := passport.checkpoint.commit:
        yield PassportRow(label="Commit", value=commit, shown=commit[:16], copies=True)


def weights_words(passport: Passport) -> str:
    """Return whether the tensors were compared with the model class; empty where nobody knows."""
    if (weights := passport.weights) is None:
        return ""
    tensors = formats.number(weights.tensors)
    if weights.compared:
        return f"{tensors}, as the model class wants them"
    return f"{tensors}, could not be compared with a model class: {weights.reason}"


def remote_code_words(own: GrantedCode) -> str:
    files, grant = ", ".join(each.path for each in own.files or ()), own.grant
    return (
        f"runs {files} of the checkpoint, granted by {grant.by} on {grant.at[:10]}: {grant.reason}"
    )


def quantized_words(passport: Passport) -> str:
    """Return what became of the weights and the KV cache; empty where nothing was quantized."""
    if (quantized := passport.quantization) is None:
        return ""
    return (
        f"{quantized.quantization_type}: {quantized.quant_algo} in "
        f"{formats.number(quantized.layers_quantized)} layers{_smoothed_words(quantized)}"
        f"{_searched_words(quantized)}{_kept_words(quantized)}, "
        f"KV cache {quantized.kv_cache_dtype}, on {quantized.device}"
    )


def _smoothed_words(quantized: Quantized) -> str:
    """Return in how many layers AWQ's scales have a place; empty for types without such scales."""
    if (smoothed := quantized.smoothed) is None:
        return ""
    return f" ({formats.number(smoothed.kept)} with activation-aware scales)"


def _searched_words(quantized: Quantized) -> str:
    """Return what a search gave the layers, and their bits a weight; empty without a search."""
    if not (counts := quantized.layers_by_number):
        return ""
    listed = ", ".join(f"{formats.number(count)} in {name}" for name, count in counts.items())
    return f" (searched: {listed}; {quantized.effective_bits:g} bits a weight)"


def _kept_words(quantized: Quantized) -> str:
    """Return which layers an encoder keeps in 16 bits, and why; empty where none are."""
    kept = quantized.kept_in_16_bits
    if kept is None or not kept.layers:
        return ""
    before = kept.all_quantized
    figures = [
        f"{_FIGURE_WORDS[name]} {before[name]:.4f} with all quantized, {each:.4f} so"
        for name, each in kept.as_built.items()
        if name in _FIGURE_WORDS
    ]
    return (
        f" ({formats.number(len(kept.layers))} more, which lost most, stay in 16 bits: "
        f"{_few_of(kept.layers)}; {', '.join(figures)}, {_kept_limits(kept)} asked, on "
        f"{formats.number(kept.rows)} samples)"
    )


def _few_of(layers: Sequence[str]) -> str:
    left = len(layers) - _NAMED_LAYERS
    more = [f"{formats.number(left)} others"] if left > 0 else []
    return ", ".join([*layers[:_NAMED_LAYERS], *more])


def _kept_limits(kept: KeptLayers) -> str:
    if "changed" in kept.as_built:
        return f"at most {kept.most_changed:g}"
    return f"at least {kept.least_cosine:g}"


def adapter_rows(passport: Passport) -> Sequence[PassportRow]:
    return [
        PassportRow(
            label=f"Adapter {each.name}",
            value=each.commit,
            shown=f"{each.repo} at {each.commit[:16]}",
            copies=True,
        )
        for each in passport.adapters
    ]


def calibration_rows(passport: Passport) -> Sequence[PassportRow]:
    """Return the data that the model was calibrated on; none where it was not."""
    if (calibration := passport.calibration) is None:
        return ()
    split = " ".join(each for each in (calibration.config, calibration.split) if each)
    revision = calibration.revision
    return (
        PassportRow(label="Calibrated on", value=f"{calibration.dataset} ({split})"),
        PassportRow(
            label="Data revision", value=revision, shown=short_digest(revision), copies=True
        ),
        PassportRow(label="Samples", value=_samples_words(calibration)),
    )


def short_digest(digest: str) -> str:
    algorithm, _, value = digest.rpartition(":")
    return f"{algorithm}:{value[:12]}" if algorithm else value[:12]


def _samples_words(calibration: CalibratedOn) -> str:
    skipped = {
        "empty": calibration.skipped_empty,
        "too short": calibration.skipped_short,
        "repeated": calibration.skipped_duplicate,
    }
    left_out = [f"{count} {why}" for why, count in skipped.items() if count]
    used = f"{formats.number(calibration.used)} of {formats.number(calibration.size_asked)}"
    return (
        f"{used if calibration.used else 'none (scales come from the weights alone)'}, "
        f"{', '.join(left_out) or 'none'} skipped, "
        f"{formats.number(calibration.held_out)} held out, up to "
        f"{formats.number(calibration.max_length)} tokens, seed {calibration.seed}"
    )
