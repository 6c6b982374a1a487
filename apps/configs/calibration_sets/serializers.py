"""Calibration sets and previews over REST."""

from typing import Any

from rest_framework import serializers

from apps.configs.calibration_sets import examples
from apps.rest.examples import shown_as
from apps.rest.paging import page_schema
from apps.rest.serializers import StrictSerializer


class CalibrationVersionObject(serializers.Serializer[Any]):
    version = serializers.IntegerField(source="number")
    digest = serializers.CharField(help_text="Of the file as builds read it.")
    uploaded_name = serializers.CharField()
    column = serializers.CharField(help_text="`text` or `messages`.")
    rows = serializers.IntegerField()
    empty_rows = serializers.IntegerField()
    short_rows = serializers.IntegerField(help_text="Of fewer than 32 characters.")
    size_bytes = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(source="created_by.email", default=None, allow_null=True)


@shown_as(examples.SET)
class CalibrationSetObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    dataset = serializers.SerializerMethodField(help_text="What `calib_dataset` says.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    versions = CalibrationVersionObject(many=True, help_text="The last one first.")

    def get_dataset(self, found: Any) -> str:
        return f"team/{found.name}"


@shown_as(examples.HEAD)
class CalibrationHeadObject(serializers.Serializer[Any]):
    version = serializers.IntegerField(source="number")
    column = serializers.CharField()
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
        help_text="`.jsonl`, `.json`, `.parquet` or `.txt`, with a `text` or `messages` column.",
    )


class HeadQuery(StrictSerializer):
    version = serializers.IntegerField(min_value=1, max_value=999_999_999, required=False)


@shown_as(examples.TOMBSTONE)
class CalibrationSetTombstone(serializers.Serializer[Any]):
    id = serializers.CharField()
    name = serializers.CharField()
    deleted = serializers.BooleanField(default=True)


@shown_as(examples.PREVIEW_WANTED)
class PreviewBody(StrictSerializer):
    config_id = serializers.CharField(max_length=16)
    revision = serializers.IntegerField(min_value=1, max_value=999_999_999, required=False)
    dataset = serializers.CharField(
        max_length=512, required=False, help_text="The revision's own `calib_dataset` when absent."
    )


class PreviewSampleObject(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    tokens = serializers.IntegerField()
    truncated = serializers.BooleanField(help_text="Whether the row was cut at `max_length`.")
    text = serializers.CharField(help_text="The tokens as text again, the template included.")
    is_cut = serializers.BooleanField(help_text="Whether only the beginning is shown here.")


class PreviewResultObject(serializers.Serializer[Any]):
    dataset = serializers.DictField()
    column = serializers.CharField()
    samples = PreviewSampleObject(many=True)
    size = serializers.IntegerField()
    max_length = serializers.IntegerField()
    seed = serializers.IntegerField()
    shortest_tokens = serializers.IntegerField()
    rows_read = serializers.IntegerField()
    skipped_empty = serializers.IntegerField()
    skipped_short = serializers.IntegerField()
    skipped_duplicate = serializers.IntegerField()
    truncated = serializers.IntegerField()
    commit = serializers.CharField()


@shown_as(examples.PREVIEW)
class PreviewObject(serializers.Serializer[Any]):
    id = serializers.CharField()
    config_id = serializers.CharField(source="revision.config_id")
    revision = serializers.IntegerField(source="revision.number")
    dataset = serializers.CharField()
    state = serializers.CharField(help_text="`waiting`, `running`, `finished` or `failed`.")
    result = PreviewResultObject(allow_null=True)
    failure = serializers.DictField(allow_null=True)
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


CalibrationSetPage = page_schema(CalibrationSetObject)
