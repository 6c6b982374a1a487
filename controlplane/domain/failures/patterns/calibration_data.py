"""Files and names of calibration data that cannot be read."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import general_dataset
from controlplane.domain.failures.pattern import Example, Pattern
from controlplane.domain.failures.registry import calibration

_CHECKED = "2026-11-28"

PATTERNS = (
    Pattern(
        code="EHC-PARQUET",
        blame=Blame.CONFIGURATION,
        expression=re.compile(r"Parquet magic bytes not found|Could not open Parquet input source"),
        sentence="A file of the calibration data {dataset} is no Parquet file, or is cut short.",
        hint="Write the file again, or name another data set.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the "
            "file is corrupted or this is not a parquet file.",
            source="pyarrow 26.0.1",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHC-SCRIPT",
        blame=Blame.CONFIGURATION,
        expression=re.compile(
            r"Dataset scripts are no longer supported, but found (?P<script>[\w./-]+)"
        ),
        sentence="The calibration data set {dataset} is a Python script (`{script}`), and a "
        "build runs no code that it fetched.",
        hint="Name a data set of .parquet or .jsonl files.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="RuntimeError: Dataset scripts are no longer supported, but found "
            "cnn_dailymail.py",
            source="datasets 4.0, load.py",
            checked="2025-07-09",
        ),
    ),
    Pattern.of(
        calibration.NAME,
        expression=re.compile(r"Repository id must be 'namespace/name'"),
        sentence="{dataset} is no full name of a data set of the hub.",
        hint="Write it as `org/name`: `cnn_dailymail` is `abisee/cnn_dailymail`.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="huggingface_hub.errors.HfUriError: Repository id must be 'namespace/name'",
            source="NVIDIA-NeMo/Megatron-Bridge#5337",
            checked="2026-08-05",
        ),
    ),
    Pattern(
        code="EHC-ENCODING",
        blame=Blame.CONFIGURATION,
        expression=re.compile(r"UnicodeDecodeError: '(?P<encoding>[\w-]+)' codec can't decode"),
        sentence="{subject} read a file that is not text in {encoding}.",
        hint="Save the calibration data as UTF-8.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid "
            "start byte",
            source="CPython 3.11",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHC-JSON",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"json\.decoder\.JSONDecodeError: (?P<reason>[^\n]{1,160})"),
        sentence="{subject} read a JSON file that is none: {reason}",
        hint="The traceback in the log names it: a .json file of the checkpoint {repo}, or a "
        "line of {dataset}. Repair it and retry.",
        example=Example(
            text="json.decoder.JSONDecodeError: Expecting property name enclosed in double "
            "quotes: line 1 column 2 (char 1)",
            source="CPython 3.11",
            checked=_CHECKED,
        ),
    ),
)
