"""Files and names of calibration data that cannot be read."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import general_dataset
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.registry import calibration

PATTERNS = (
    log_pattern(
        "EHC-PARQUET",
        Blame.CONFIGURATION,
        r"Parquet magic bytes not found|Could not open Parquet input source",
        "A file of {dataset} is no Parquet file, or is cut short.",
        "Write the file again, or name another data set.",
        field=fields.DATASET,
        fix=general_dataset,
        text="pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the "
        "file is corrupted or this is not a parquet file.",
        source="pyarrow 26.0.1",
    ),
    log_pattern(
        "EHC-SCRIPT",
        Blame.CONFIGURATION,
        r"Dataset scripts are no longer supported, but found (?P<script>[\w./-]+)",
        "A Python script (`{script}`) reads {dataset}, and a build runs no code that it fetched.",
        "Name a data set of .parquet or .jsonl files.",
        field=fields.DATASET,
        fix=general_dataset,
        text="RuntimeError: Dataset scripts are no longer supported, but found cnn_dailymail.py",
        source="datasets 4.0, load.py",
        checked="2025-07-09",
    ),
    Pattern.of(
        calibration.NAME,
        r"Repository id must be 'namespace/name'",
        sentence="{dataset} is no full name of a data set of the hub.",
        hint="Write it as `org/name`: `cnn_dailymail` is `abisee/cnn_dailymail`.",
        field=fields.DATASET,
        fix=general_dataset,
        text="huggingface_hub.errors.HfUriError: Repository id must be 'namespace/name'",
        source="NVIDIA-NeMo/Megatron-Bridge#5337",
        checked="2026-08-05",
    ),
    log_pattern(
        "EHC-ENCODING",
        Blame.CONFIGURATION,
        r"UnicodeDecodeError: '(?P<encoding>[\w-]+)' codec can't decode",
        "{subject} read a file that is not text in {encoding}.",
        "Save the calibration data as UTF-8.",
        field=fields.DATASET,
        fix=general_dataset,
        text="UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid "
        "start byte",
        source="CPython 3.11",
    ),
    log_pattern(
        "EHC-JSON",
        Blame.CHECKPOINT,
        r"json\.decoder\.JSONDecodeError: (?P<reason>[^\n]{1,160})",
        "{subject} read a JSON file that is none: {reason}",
        "The traceback in the log names it: a .json file of the checkpoint {repo}, or a "
        "line of {dataset}. Repair it and retry.",
        text="json.decoder.JSONDecodeError: Expecting property name enclosed in double "
        "quotes: line 1 column 2 (char 1)",
        source="CPython 3.11",
    ),
)
