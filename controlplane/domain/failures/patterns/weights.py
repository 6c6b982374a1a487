"""Weight files and config.json that are damaged, missing or not of one model."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import default_branch
from controlplane.domain.failures.pattern import Example, Pattern
from controlplane.domain.failures.registry import build

_CHECKED = "2026-11-28"
_SAFETENSORS = "safetensors 0.8.0, safe_open"
_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    Pattern(
        code="EHP-TRUNCATED",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"incomplete metadata, file not fully covered|header too small|MetadataIncompleteBuffer"
        ),
        sentence="A weight file of {repo} is cut short: it ends before its last tensor.",
        hint="Upload the file again and retry. A file that was fetched here was verified, so the "
        "source itself is short.",
        field=fields.REVISION,
        example=Example(
            text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
            "header: incomplete metadata, file not fully covered",
            source=_SAFETENSORS,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-POINTER",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"header too large|HeaderTooLarge"),
        sentence="A weight file of {repo} is no safetensors file: mostly a pointer of git LFS "
        "(a few lines of text) in the place of the weights.",
        hint="Run `git lfs pull` in the checkpoint's folder, or upload the file itself.",
        field=fields.REPO,
        example=Example(
            text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
            "header: header too large",
            source=_SAFETENSORS,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-HEADER",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"(?:Error while deserializing header: |Failed to parse safetensors header [^\n]*?\): )"
            r"(?P<reason>invalid [^\n]{1,120}|Invalid\w+|header is [^\n.]{1,120})"
        ),
        sentence="The header of a weight file of {repo} cannot be read: {reason}",
        hint="Save the weights again with safetensors and upload them.",
        field=fields.REPO,
        example=Example(
            text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
            "header: invalid UTF-8 in header: invalid utf-8 sequence of 1 bytes from index 0",
            source=_SAFETENSORS,
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-NO-WEIGHTS",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"Error no file named (?P<file>[\w.-]+)"),
        sentence="{repo} at `{revision}` holds no weights: there is no `{file}`.",
        hint="Check that repo and revision name a model and not only its configuration or an "
        "adapter.",
        field=fields.REPO,
        example=Example(
            text="OSError: Error no file named model.safetensors, or pytorch_model.bin, found in "
            "directory model.",
            source=f"{_TRANSFORMERS}, modeling_utils.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-SHARD",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"No such file or directory: '?\S*?(?P<file>[\w.]+-\d{5}-of-\d{5}\.safetensors)"
        ),
        sentence="The index of {repo} names the weight file `{file}`, which is not there.",
        hint="Upload the missing file, or name a revision that is complete.",
        field=fields.REVISION,
        fix_for=default_branch,
        example=Example(
            text="FileNotFoundError: No such file or directory: "
            "model/model-00002-of-00002.safetensors",
            source="safetensors 0.8.0 through transformers 5.24.0",
            checked=_CHECKED,
        ),
    ),
    Pattern.of(
        build.SHAPE,
        expression=re.compile(
            r"(?P<tensor>[\w.{}, ]{1,160}?) {1,80}\| MISMATCH[^\n]*?ckpt: "
            r"torch\.Size\((?P<stored>[^)]*)\) vs "
            r"model:torch\.Size\((?P<wanted>[^)]*)\)"
        ),
        sentence="The weights of {repo} do not have the shapes that its config.json gives: "
        "`{tensor}` is {stored} and should be {wanted}.",
        hint="Use a revision in which config.json and weights belong together.",
        field=fields.REVISION,
        stands_before_traceback=True,
        example=Example(
            text="lm_head.weight  | MISMATCH | Reinit due to size mismatch - ckpt: "
            "torch.Size([512, 64]) vs model:torch.Size([512, 32])",
            source=f"{_TRANSFORMERS}, utils/loading_report.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-STATE-DICT",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"Error\(s\) in loading state_dict for (?P<name>\w+)"),
        sentence="The weights of {repo} do not fit `{name}`, the class that its config.json names.",
        hint="Use a revision in which config.json and weights belong together.",
        field=fields.REVISION,
        example=Example(
            text="RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:",
            source="torch 2.13.0, nn/modules/module.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-PICKLE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"Weights only load failed|UnpicklingError"),
        sentence="The weights of {repo} are pickles, which can run code when they are loaded.",
        hint="Convert them to safetensors: load the model with transformers, then "
        "`save_pretrained`.",
        field=fields.REPO,
        example=Example(
            text="_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed "
            "the default value of the `weights_only` argument",
            source="torch 2.13.0, serialization.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-CONFIG-JSON",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"config file at '(?P<path>[^'\n]+)' is not a valid JSON file"),
        sentence="`{path}` is not valid JSON.",
        hint="Repair config.json in the checkpoint and upload it again.",
        field=fields.REPO,
        example=Example(
            text="OSError: It looks like the config file at 'model/config.json' is "
            "not a valid JSON file.",
            source=f"{_TRANSFORMERS}, configuration_utils.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-DTYPE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"module 'torch' has no attribute '(?P<name>\w+)'"),
        sentence="config.json of {repo} names the number type `{name}`, which this PyTorch does "
        "not have.",
        hint="Set `dtype` in its config.json to float32, float16 or bfloat16.",
        field=fields.REPO,
        example=Example(
            text="AttributeError: module 'torch' has no attribute 'float99'",
            source="torch 2.13.0 through transformers 5.24.0",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHP-META",
        blame=Blame.MACHINE,
        expression=re.compile(r"Cannot copy out of meta tensor; no data!"),
        sentence="A part of the model of {repo} was never loaded: it did not fit the memory of "
        "GPUs and machine together.",
        hint="Build with more GPUs or on a machine with more memory.",
        field="trt_llm.build.num_builder_gpus",
        example=Example(
            text="NotImplementedError: Cannot copy out of meta tensor; no data!",
            source="torch 2.13.0",
            checked=_CHECKED,
        ),
    ),
)
