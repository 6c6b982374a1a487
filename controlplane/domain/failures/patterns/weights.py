"""Weight files and config.json that are damaged, missing or not of one model."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import default_branch
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.registry import build

_SAFETENSORS = "safetensors 0.8.0, safe_open"
_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    log_pattern(
        "EHP-TRUNCATED",
        Blame.CHECKPOINT,
        r"incomplete metadata, file not fully covered|header too small|MetadataIncompleteBuffer",
        "A weight file of {repo} is cut short: it ends before its last tensor.",
        "Upload the file again and retry. A file that was fetched here was verified, so the "
        "source itself is short.",
        field=fields.REVISION,
        text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
        "header: incomplete metadata, file not fully covered",
        source=_SAFETENSORS,
    ),
    log_pattern(
        "EHP-POINTER",
        Blame.CHECKPOINT,
        r"header too large|HeaderTooLarge",
        "A weight file of {repo} is no safetensors file: mostly a pointer of git LFS "
        "(a few lines of text) in the place of the weights.",
        "Run `git lfs pull` in the checkpoint's folder, or upload the file itself.",
        field=fields.REPO,
        text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
        "header: header too large",
        source=_SAFETENSORS,
    ),
    log_pattern(
        "EHP-HEADER",
        Blame.CHECKPOINT,
        r"(?:Error while deserializing header: |Failed to parse safetensors header [^\n]*?\): )"
        r"(?P<reason>invalid [^\n]{1,120}|Invalid\w+|header is [^\n.]{1,120})",
        "The header of a weight file of {repo} cannot be read: {reason}",
        "Save the weights again with safetensors and upload them.",
        field=fields.REPO,
        text="safetensors._safetensors_rust.SafetensorError: Error while deserializing "
        "header: invalid UTF-8 in header: invalid utf-8 sequence of 1 bytes from index 0",
        source=_SAFETENSORS,
    ),
    log_pattern(
        "EHP-NO-WEIGHTS",
        Blame.CHECKPOINT,
        r"Error no file named (?P<file>[\w.-]+)",
        "{repo} at `{revision}` holds no weights: there is no `{file}`.",
        "Check that repo and revision name a model and not only its configuration or an adapter.",
        field=fields.REPO,
        text="OSError: Error no file named model.safetensors, or pytorch_model.bin, found in "
        "directory model.",
        source=f"{_TRANSFORMERS}, modeling_utils.py",
    ),
    log_pattern(
        "EHP-SHARD",
        Blame.CHECKPOINT,
        r"No such file or directory: '?\S*?(?P<file>[\w.]+-\d{5}-of-\d{5}\.safetensors)",
        "The index of {repo} names the weight file `{file}`, which is not there.",
        "Upload the missing file, or name a revision that is complete.",
        field=fields.REVISION,
        fix=default_branch,
        text="FileNotFoundError: No such file or directory: model/model-00002-of-00002.safetensors",
        source="safetensors 0.8.0 through transformers 5.24.0",
    ),
    Pattern.of(
        build.SHAPE,
        r"(?P<tensor>[\w.{}, ]{1,160}?) {1,80}\| MISMATCH[^\n]*?ckpt: "
        r"torch\.Size\((?P<stored>[^)]*)\) vs "
        r"model:torch\.Size\((?P<wanted>[^)]*)\)",
        sentence="The weights of {repo} do not have the shapes that its config.json gives: "
        "`{tensor}` is {stored} and should be {wanted}.",
        hint="Use a revision in which config.json and weights belong together.",
        field=fields.REVISION,
        stands_before_traceback=True,
        text="lm_head.weight  | MISMATCH | Reinit due to size mismatch - ckpt: "
        "torch.Size([512, 64]) vs model:torch.Size([512, 32])",
        source=f"{_TRANSFORMERS}, utils/loading_report.py",
    ),
    log_pattern(
        "EHP-STATE-DICT",
        Blame.CHECKPOINT,
        r"Error\(s\) in loading state_dict for (?P<name>\w+)",
        "The weights of {repo} do not fit `{name}`, the class that its config.json names.",
        "Use a revision in which config.json and weights belong together.",
        field=fields.REVISION,
        text="RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:",
        source="torch 2.13.0, nn/modules/module.py",
    ),
    log_pattern(
        "EHP-PICKLE",
        Blame.CHECKPOINT,
        r"Weights only load failed|UnpicklingError",
        "The weights of {repo} are pickles, which can run code when they are loaded.",
        "Convert them to safetensors: load the model with transformers, then `save_pretrained`.",
        field=fields.REPO,
        text="_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed "
        "the default value of the `weights_only` argument",
        source="torch 2.13.0, serialization.py",
    ),
    log_pattern(
        "EHP-CONFIG-JSON",
        Blame.CHECKPOINT,
        r"config file at '(?P<path>[^'\n]+)' is not a valid JSON file",
        "`{path}` is not valid JSON.",
        "Repair config.json in the checkpoint and upload it again.",
        field=fields.REPO,
        text="OSError: It looks like the config file at 'model/config.json' is "
        "not a valid JSON file.",
        source=f"{_TRANSFORMERS}, configuration_utils.py",
    ),
    log_pattern(
        "EHP-DTYPE",
        Blame.CHECKPOINT,
        r"module 'torch' has no attribute '(?P<name>\w+)'",
        "config.json of {repo} names the number type `{name}`, which this PyTorch does not have.",
        "Set `dtype` in its config.json to float32, float16 or bfloat16.",
        field=fields.REPO,
        text="AttributeError: module 'torch' has no attribute 'float99'",
        source="torch 2.13.0 through transformers 5.24.0",
    ),
    log_pattern(
        "EHP-META",
        Blame.MACHINE,
        r"Cannot copy out of meta tensor; no data!",
        "A part of the model of {repo} was never loaded: it did not fit the memory of "
        "GPUs and machine together.",
        "Build with more GPUs or on a machine with more memory.",
        field="trt_llm.build.num_builder_gpus",
        text="NotImplementedError: Cannot copy out of meta tensor; no data!",
        source="torch 2.13.0",
    ),
)
