"""Tokenizers that cannot be read, and chat templates that cannot be applied."""

from controlplane.domain.failures import fields
from controlplane.domain.failures.failure import Blame
from controlplane.domain.failures.fixes import general_dataset
from controlplane.domain.failures.pattern import Pattern, log_pattern
from controlplane.domain.failures.registry import calibration

_TRANSFORMERS = "transformers 5.24.0"

PATTERNS = (
    log_pattern(
        "EHT-NONE",
        Blame.CHECKPOINT,
        r"Couldn't instantiate the backend tokenizer|Can't load tokenizer for",
        "{repo} has no tokenizer that can be loaded.",
        "Add tokenizer.json and tokenizer_config.json to the checkpoint.",
        field=fields.REPO,
        text="ValueError: Couldn't instantiate the backend tokenizer from one of: ",
        source=f"{_TRANSFORMERS}, tokenization_utils_tokenizers.py",
    ),
    log_pattern(
        "EHT-SLOW",
        Blame.CHECKPOINT,
        r"requires the SentencePiece library|`tiktoken` is required to read a `tiktoken` file",
        "{repo} has its tokenizer in an older form only (SentencePiece or tiktoken), "
        "which this build worker does not read.",
        "Convert it once: `AutoTokenizer.from_pretrained(...).save_pretrained(...)` where "
        "sentencepiece and tiktoken are installed, and add the tokenizer.json it writes.",
        field=fields.REPO,
        text="ValueError: `tiktoken` is required to read a `tiktoken` file. Install it with "
        "`pip install tiktoken`.",
        source=f"{_TRANSFORMERS}, convert_slow_tokenizer.py",
    ),
    log_pattern(
        "EHT-DAMAGED",
        Blame.CHECKPOINT,
        r"did not match any variant of untagged enum \w+|KeyError: 'added_tokens'",
        "tokenizer.json of {repo} is damaged, or was written by a newer release of "
        "tokenizers than this build worker has.",
        "Save the tokenizer again and upload it.",
        field=fields.REPO,
        text="Exception: data did not match any variant of untagged enum ModelUntagged at "
        "line 1 column 58",
        source="tokenizers 0.23.3, Tokenizer.from_file",
    ),
    log_pattern(
        "EHT-CLASS",
        Blame.CHECKPOINT,
        r"Tokenizer class (?P<name>\w+) (?:does not exist|is not currently imported)",
        "tokenizer_config.json of {repo} names the class `{name}`, which Transformers "
        "does not have.",
        "Set `tokenizer_class` there to `PreTrainedTokenizerFast` where a tokenizer.json lies "
        "beside it.",
        field=fields.REPO,
        text="ValueError: Tokenizer class QWenTokenizer is not currently imported.",
        source=f"{_TRANSFORMERS}, models/auto/tokenization_auto.py",
    ),
    log_pattern(
        "EHT-NO-PAD",
        Blame.CHECKPOINT,
        r"Asking to pad but the tokenizer does not have a padding token",
        "The tokenizer of {repo} has no padding token, so samples of different lengths "
        "cannot run together.",
        "Set `pad_token` in its tokenizer_config.json; the end-of-text token serves.",
        field=fields.REPO,
        text="ValueError: Asking to pad but the tokenizer does not have a padding token.",
        source=f"{_TRANSFORMERS}, tokenization_utils_base.py",
    ),
    log_pattern(
        "EHT-VOCABULARY",
        Blame.CHECKPOINT,
        r"IndexError: index out of range in self",
        "The tokenizer of {repo} gives tokens that its model has no embedding for.",
        "Check that the tokenizer belongs to this model: its vocabulary must not be larger "
        "than `vocab_size` in config.json.",
        field=fields.REPO,
        text="IndexError: index out of range in self",
        source="torch 2.13.0, nn.functional.embedding",
    ),
    Pattern.of(
        calibration.NO_TEMPLATE,
        r"tokenizer\.chat_template is not set",
        sentence="{dataset} holds conversations, and the tokenizer of {repo} has no chat "
        "template to write them with.",
        hint="Use a data set with a `text` column, or add chat_template.jinja to the checkpoint.",
        field=fields.DATASET,
        fix=general_dataset,
        text="ValueError: Cannot use chat template functions because tokenizer.chat_template "
        "is not set and no template argument was passed!",
        source=f"{_TRANSFORMERS}, tokenization_utils_base.py",
    ),
    log_pattern(
        "EHT-TEMPLATE-SYNTAX",
        Blame.CHECKPOINT,
        r"TemplateSyntaxError: (?P<reason>[^\n]{1,200})",
        "The chat template of {repo} cannot be read: {reason}",
        "Repair chat_template.jinja (or `chat_template` in tokenizer_config.json).",
        field=fields.REPO,
        text="jinja2.exceptions.TemplateSyntaxError: Unexpected end of template. Jinja was "
        "looking for the following tags: 'endfor' or 'else'.",
        source="jinja2 3.1.6",
    ),
    Pattern.of(
        calibration.TEMPLATE,
        r"jinja2\.exceptions\.TemplateError: (?P<reason>[^\n]{1,200})",
        sentence="The chat template of {repo} refused a conversation of {dataset}: {reason}",
        hint="Each row's `messages` must be a list that the template takes; most want user and "
        "assistant in turn.",
        field=fields.DATASET,
        fix=general_dataset,
        text="jinja2.exceptions.TemplateError: Conversation roles must alternate "
        "user/assistant/user/assistant/...",
        source="FasterDecoding/Medusa#102",
        checked="2024-05-13",
    ),
    log_pattern(
        "EHT-TEMPLATE-NAME",
        Blame.CHECKPOINT,
        r"jinja2\.exceptions\.UndefinedError: (?P<reason>[^\n]{1,200})",
        "The chat template of {repo} uses something that is not there: {reason}",
        "Repair the template, or calibrate on a data set with a `text` column.",
        field=fields.REPO,
        fix=general_dataset,
        text="jinja2.exceptions.UndefinedError: 'str object' has no attribute 'nope'",
        source="jinja2 3.1.6",
    ),
)
