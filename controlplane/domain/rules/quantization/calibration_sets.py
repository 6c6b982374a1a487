"""EH2: calibration data that the team keeps itself."""

from controlplane.domain.facts import sources
from controlplane.domain.facts.calibration_sets import (
    PREFIX,
    CalibrationSet,
    SetReference,
    SetVersion,
    is_team_form,
    may_name_sets,
    nearest,
    reference_of,
)
from controlplane.domain.rules.context import Context
from controlplane.domain.rules.examples import LLAMA_8B, Config, Example
from controlplane.domain.rules.quantization.calibration_data import samples_words
from controlplane.domain.rules.quantization.precision import QUANTIZATION, is_quantized
from controlplane.domain.rules.rule import Fix, Patch, Rule, Severity, at

_BLOCK = "trt_llm.build.quantization_config"
_DATASET = f"{_BLOCK}.calib_dataset"
_FP8: Config = {"resources.accelerator": "H100", QUANTIZATION: "fp8"}
_SOURCE = sources.enginehouse("calibration sets")


def _named(c: Context) -> dict[str, str]:
    given = {_DATASET: c.spec.engine_build.quantization_config.calib_dataset}
    gate, path = c.spec.settings.gate, f"{c.spec.settings_path}.gate"
    measured_on = {f"{path}.evaluation_dataset": gate.evaluation_dataset} | {
        f"{path}.tasks.{name}.dataset": task.dataset for name, task in gate.tasks.items()
    }
    return given | {field: each for field, each in measured_on.items() if each}


def _sets(c: Context) -> dict[str, CalibrationSet]:
    return {each.name: each for each in c.calibration_sets}


def _unknown(c: Context) -> dict[str, str]:
    """Return the fields whose set the team does not have, or whose name lacks its prefix."""
    sets = _sets(c)
    return {
        field: dataset
        for field, dataset in _named(c).items()
        if (
            (is_team_form(dataset) and _version_of(sets, reference_of(dataset)) is None)
            or dataset in sets
        )
    }


def _version_of(
    sets: dict[str, CalibrationSet], reference: SetReference | None
) -> SetVersion | None:
    if reference is None or reference.name not in sets:
        return None
    return sets[reference.name].version(reference.version)


def _meant(c: Context, dataset: str) -> str | None:
    """Return the name to write instead, where one is near."""
    name = dataset.removeprefix(PREFIX).partition("@")[0]
    close = nearest(name, _sets(c))
    return PREFIX + close if close else None


def _sentence(c: Context, dataset: str) -> str:
    if dataset in _sets(c):
        return f"`{dataset}` is a set of the team, whose names begin with `{PREFIX}`."
    reference = reference_of(dataset)
    if reference and reference.name in _sets(c):
        last = _sets(c)[reference.name].versions[-1].number
        return f"`{PREFIX}{reference.name}` has no version {reference.version}; {last} is the last."
    known = ", ".join(f"`{PREFIX}{name}`" for name in sorted(_sets(c))[:5]) or "none"
    return f"The team has no calibration set `{dataset}`; it has {known}."


def _message(c: Context) -> str:
    words = []
    for dataset in dict.fromkeys(_unknown(c).values()):
        close = _meant(c, dataset)
        advice = f"Did you mean `{close}`?" if close else "Upload it under Calibration data first."
        words.append(f"{_sentence(c, dataset)} {advice}")
    return " ".join(words)


def _use_nearest(c: Context) -> Patch | None:
    meant = {field: _meant(c, dataset) for field, dataset in _unknown(c).items()}
    return meant if all(meant.values()) else None


def _calibrated_on(c: Context) -> SetVersion | None:
    return _version_of(_sets(c), reference_of(_named(c)[_DATASET]))


def _names_a_set(c: Context) -> bool:
    return is_quantized(c) and is_team_form(_named(c)[_DATASET])


def _chats(rows: int = 2048) -> tuple[CalibrationSet, ...]:
    version = SetVersion(number=1, column="messages", rows=rows)
    return (CalibrationSet(name="support-chats", versions=(version,)),)


_OF_CHATS: Config = {**_FP8, _DATASET: "team/support-chats"}

UNKNOWN_SET = Rule(
    code="EH236",
    name="calibration-set-that-the-team-does-not-have",
    severity=Severity.ERROR,
    needs=("calibration_sets",),
    fields=lambda c: tuple(_unknown(c)) or (_DATASET,),
    concerns=lambda c: is_quantized(c) and may_name_sets(c.spec),
    when=lambda c: bool(_unknown(c)),
    message=_message,
    fix=Fix(label="Use the set of that name", patch=_use_nearest, safe=False),
    source=_SOURCE,
    bad=Example(
        config={**_FP8, _DATASET: "team/suport-chats"},
        checkpoint=LLAMA_8B,
        calibration_sets=_chats(),
    ),
    good=Example(config=_OF_CHATS, checkpoint=LLAMA_8B, calibration_sets=_chats()),
)

CHATS_WITHOUT_TEMPLATE = Rule(
    code="EH237",
    name="chat-set-without-a-template",
    severity=Severity.ERROR,
    needs=("checkpoint", "calibration_sets"),
    fields=at(_DATASET),
    concerns=_names_a_set,
    when=lambda c: (
        c.checkpoint.has_chat_template is False
        and getattr(_calibrated_on(c), "column", None) == "messages"
    ),
    message=lambda c: (
        f"The rows of `{_named(c)[_DATASET]}` are messages, and the checkpoint has no chat "
        "template to write them with. Upload texts instead, or add `chat_template.jinja` to the "
        "checkpoint."
    ),
    fix=Fix(label="Use the default data", patch=lambda _: {_DATASET: None}, safe=False),
    source=_SOURCE,
    bad=Example(
        config=_OF_CHATS,
        checkpoint=LLAMA_8B.model_copy(update={"has_chat_template": False}),
        calibration_sets=_chats(),
    ),
    good=Example(config=_OF_CHATS, checkpoint=LLAMA_8B, calibration_sets=_chats()),
)

SMALL_SET = Rule(
    code="EH238",
    name="calibration-set-smaller-than-asked",
    severity=Severity.HINT,
    needs=("calibration_sets",),
    fields=lambda c: (c.spec.calibration_samples_path, _DATASET),
    concerns=_names_a_set,
    when=lambda c: _rows(c) < c.spec.calibration_samples,
    message=lambda c: (
        f"`{_named(c)[_DATASET]}` has {_rows(c):,} rows with text, and {samples_words(c)}: the "
        "build calibrates on what is there, less an eighth that is held out for the gate."
    ),
    source=_SOURCE,
    bad=Example(config=_OF_CHATS, checkpoint=LLAMA_8B, calibration_sets=_chats(rows=200)),
    good=Example(config=_OF_CHATS, checkpoint=LLAMA_8B, calibration_sets=_chats()),
)


def _rows(c: Context) -> int:
    version = _calibrated_on(c)
    return 2**31 if version is None or version.rows is None else version.rows
