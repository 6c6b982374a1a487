"""Tokenizers that cannot be read, and chat templates that cannot be applied."""

import re

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import general_dataset
from controlplane.domain.failures.pattern import Example, Pattern
from controlplane.domain.failures.registry import calibration

_CHECKED = "2026-11-28"
_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    Pattern(
        code="EHT-NONE",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"Couldn't instantiate the backend tokenizer|Can't load tokenizer for"
        ),
        sentence="{repo} has no tokenizer that can be loaded.",
        hint="Add tokenizer.json and tokenizer_config.json to the checkpoint.",
        field=fields.REPO,
        example=Example(
            text="ValueError: Couldn't instantiate the backend tokenizer from one of: ",
            source=f"{_TRANSFORMERS}, tokenization_utils_tokenizers.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-SLOW",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"requires the SentencePiece library|`tiktoken` is required to read a `tiktoken` file"
        ),
        sentence="{repo} has its tokenizer in an older form only (SentencePiece or tiktoken), "
        "which this build worker does not read.",
        hint="Convert it once: `AutoTokenizer.from_pretrained(...).save_pretrained(...)` where "
        "sentencepiece and tiktoken are installed, and add the tokenizer.json it writes.",
        field=fields.REPO,
        example=Example(
            text="ValueError: `tiktoken` is required to read a `tiktoken` file. Install it with "
            "`pip install tiktoken`.",
            source=f"{_TRANSFORMERS}, convert_slow_tokenizer.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-DAMAGED",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"did not match any variant of untagged enum \w+|KeyError: 'added_tokens'"
        ),
        sentence="tokenizer.json of {repo} is damaged, or was written by a newer release of "
        "tokenizers than this build worker has.",
        hint="Save the tokenizer again and upload it.",
        field=fields.REPO,
        example=Example(
            text="Exception: data did not match any variant of untagged enum ModelUntagged at "
            "line 1 column 58",
            source="tokenizers 0.23.3, Tokenizer.from_file",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-CLASS",
        blame=Blame.CHECKPOINT,
        expression=re.compile(
            r"Tokenizer class (?P<name>\w+) (?:does not exist|is not currently imported)"
        ),
        sentence="tokenizer_config.json of {repo} names the class `{name}`, which Transformers "
        "does not have.",
        hint="Set `tokenizer_class` there to `PreTrainedTokenizerFast` where a tokenizer.json lies "
        "beside it.",
        field=fields.REPO,
        example=Example(
            text="ValueError: Tokenizer class QWenTokenizer is not currently imported.",
            source=f"{_TRANSFORMERS}, models/auto/tokenization_auto.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-NO-PAD",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"Asking to pad but the tokenizer does not have a padding token"),
        sentence="The tokenizer of {repo} has no padding token, so samples of different lengths "
        "cannot run together.",
        hint="Set `pad_token` in its tokenizer_config.json; the end-of-text token serves.",
        field=fields.REPO,
        example=Example(
            text="ValueError: Asking to pad but the tokenizer does not have a padding token.",
            source=f"{_TRANSFORMERS}, tokenization_utils_base.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-VOCABULARY",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"IndexError: index out of range in self"),
        sentence="The tokenizer of {repo} gives tokens that its model has no embedding for.",
        hint="Check that the tokenizer belongs to this model: its vocabulary must not be larger "
        "than `vocab_size` in config.json.",
        field=fields.REPO,
        example=Example(
            text="IndexError: index out of range in self",
            source="torch 2.13.0, nn.functional.embedding",
            checked=_CHECKED,
        ),
    ),
    Pattern.of(
        calibration.NO_TEMPLATE,
        expression=re.compile(r"tokenizer\.chat_template is not set"),
        sentence="{dataset} holds conversations, and the tokenizer of {repo} has no chat "
        "template to write them with.",
        hint="Use a data set with a `text` column, or add chat_template.jinja to the checkpoint.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="ValueError: Cannot use chat template functions because tokenizer.chat_template "
            "is not set and no template argument was passed!",
            source=f"{_TRANSFORMERS}, tokenization_utils_base.py",
            checked=_CHECKED,
        ),
    ),
    Pattern(
        code="EHT-TEMPLATE-SYNTAX",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"TemplateSyntaxError: (?P<reason>[^\n]{1,200})"),
        sentence="The chat template of {repo} cannot be read: {reason}",
        hint="Repair chat_template.jinja (or `chat_template` in tokenizer_config.json).",
        field=fields.REPO,
        example=Example(
            text="jinja2.exceptions.TemplateSyntaxError: Unexpected end of template. Jinja was "
            "looking for the following tags: 'endfor' or 'else'.",
            source="jinja2 3.1.6",
            checked=_CHECKED,
        ),
    ),
    Pattern.of(
        calibration.TEMPLATE,
        expression=re.compile(r"jinja2\.exceptions\.TemplateError: (?P<reason>[^\n]{1,200})"),
        sentence="The chat template of {repo} refused a conversation of {dataset}: {reason}",
        hint="Each row's `messages` must be a list that the template takes; most want user and "
        "assistant in turn.",
        field=fields.DATASET,
        fix_for=general_dataset,
        example=Example(
            text="jinja2.exceptions.TemplateError: Conversation roles must alternate "
            "user/assistant/user/assistant/...",
            source="FasterDecoding/Medusa#102",
            checked="2024-05-13",
        ),
    ),
    Pattern(
        code="EHT-TEMPLATE-NAME",
        blame=Blame.CHECKPOINT,
        expression=re.compile(r"jinja2\.exceptions\.UndefinedError: (?P<reason>[^\n]{1,200})"),
        sentence="The chat template of {repo} uses something that is not there: {reason}",
        hint="Repair the template, or calibrate on a data set with a `text` column.",
        field=fields.REPO,
        fix_for=general_dataset,
        example=Example(
            text="jinja2.exceptions.UndefinedError: 'str object' has no attribute 'nope'",
            source="jinja2 3.1.6",
            checked=_CHECKED,
        ),
    ),
)
