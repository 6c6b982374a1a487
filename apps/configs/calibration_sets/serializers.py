from typing import Any

from rest_framework import serializers

from apps.configs.calibration_sets import examples
from apps.rest.examples import shown_as
from apps.rest.failure_object import FailureObject
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer
from controlplane.domain.calibration_rows import FORMS_IN_WORDS


class CalibrationVersionObject(serializers.Serializer[Any]):
    version = serializers.IntegerField(
        source="number", help_text="Its number within the set, from 1."
    )
    digest = serializers.CharField(help_text="Of the file as builds read it.")
    uploaded_name = serializers.CharField(help_text="The name of the file that was uploaded.")
    column = serializers.CharField(help_text="`text`, `messages`, `prompt` or `instruction`.")
    rows = serializers.IntegerField(help_text="How many rows it has.")
    empty_rows = serializers.IntegerField(help_text="Rows without text, which builds skip.")
    short_rows = serializers.IntegerField(help_text="Of fewer than 32 characters.")
    size_bytes = serializers.IntegerField(help_text="Size of the file.")
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(source="created_by.email", default=None, allow_null=True)


@shown_as(examples.SET)
class CalibrationSetObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField(help_text="Its name; configs say `team/NAME`.")
    dataset = serializers.SerializerMethodField(help_text="What `calib_dataset` says.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    versions = CalibrationVersionObject(many=True, help_text="The last one first.")

    def get_dataset(self, calibration_set: Any) -> str:
        return f"team/{calibration_set.name}"


@shown_as(examples.HEAD)
class CalibrationHeadObject(serializers.Serializer[Any]):
    version = serializers.IntegerField(source="number", help_text="The version that they are of.")
    column = serializers.CharField(help_text="`text`, `messages`, `prompt` or `instruction`.")
    rows = serializers.ListField(
        source="head",
        child=serializers.CharField(),
        help_text="The beginnings of the first rows with text.",
    )


@shown_as(examples.UPLOAD)
class CalibrationUploadBody(StrictSerializer):
    name = serializers.CharField(max_length=100, help_text="With or without `team/`.")
    file = serializers.FileField(
        allow_empty_file=True,
        max_length=255,
        help_text=f"`.jsonl`, `.json`, `.parquet` or `.txt`, with {FORMS_IN_WORDS}.",
    )


class HeadQuery(StrictSerializer):
    version = serializers.IntegerField(
        min_value=1,
        max_value=999_999_999,
        required=False,
        help_text="The version to look at; the last one when absent.",
    )


@shown_as(examples.TOMBSTONE)
class CalibrationSetTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    deleted = serializers.BooleanField(default=True, help_text="Always true.")


@shown_as(examples.PREVIEW_WANTED)
class PreviewBody(StrictSerializer):
    config_id = serializers.CharField(
        max_length=16, help_text="The config whose tokenizer, length and number of samples count."
    )
    revision = serializers.IntegerField(
        min_value=1,
        max_value=999_999_999,
        required=False,
        help_text="Number of the revision; the last one when absent.",
    )
    dataset = serializers.CharField(
        max_length=512, required=False, help_text="The revision's own `calib_dataset` when absent."
    )


class PreviewSampleObject(serializers.Serializer[Any]):
    row = serializers.IntegerField(help_text="Its row in the data set, from 0.")
    tokens = serializers.IntegerField(help_text="How many tokens it has.")
    truncated = serializers.BooleanField(help_text="Whether the row was cut at `max_length`.")
    text = serializers.CharField(help_text="The tokens as text again, the template included.")
    is_cut = serializers.BooleanField(help_text="Whether only the beginning is shown here.")


class PreviewResultObject(serializers.Serializer[Any]):
    dataset = serializers.DictField(help_text="What was read, and where it is.")
    column = serializers.CharField(help_text="The column that was read.")
    samples = PreviewSampleObject(many=True, help_text="The first samples that a build would take.")
    size = serializers.IntegerField(help_text="How many samples a build takes.")
    max_length = serializers.IntegerField(help_text="Tokens after which a sample is cut.")
    seed = serializers.IntegerField(help_text="The seed of the shuffle.")
    shortest_tokens = serializers.IntegerField(help_text="Rows of fewer tokens are skipped.")
    rows_read = serializers.IntegerField(help_text="Rows that were looked at.")
    skipped_empty = serializers.IntegerField(help_text="Rows skipped for having no text.")
    skipped_short = serializers.IntegerField(help_text="Rows skipped for being short.")
    skipped_duplicate = serializers.IntegerField(
        help_text="Rows skipped for having been there before."
    )
    truncated = serializers.IntegerField(help_text="Samples that were cut.")
    commit = serializers.CharField(help_text="The commit of the data set; empty where it has none.")


@shown_as(examples.PREVIEW)
class PreviewObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    config_id = serializers.CharField(
        source="revision.config_id", help_text="The config that it was made for."
    )
    revision = serializers.IntegerField(
        source="revision.number", help_text="Number of the revision."
    )
    dataset = serializers.CharField(help_text="The data set that was read.")
    state = serializers.ChoiceField(
        choices=["waiting", "running", "finished", "failed"], help_text="Where it is."
    )
    result = PreviewResultObject(
        allow_null=True, help_text="What it found; null until it has finished."
    )
    failure = FailureObject(allow_null=True, help_text="Why it failed; null where it did not.")
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


CalibrationSetPage = page_schema(CalibrationSetObject)
