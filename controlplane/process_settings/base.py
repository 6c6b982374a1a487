"""A process's settings: fields that are environment variables, read when it starts.

A variable's docstring is its row in `docs/settings.md`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from controlplane.process_settings.wrong import UnreadableFile, WrongSetting, words_of


def variable(
    name: str,
    default: Any = ...,
    *,
    shown: str = "",
    read_by: str = "",
    group: str = "",
    is_secret: bool = False,
    **more: Any,
) -> Any:
    """Return a field that is the variable `name`.

    `shown` is its default in words, where the value does not say it; `read_by` and `group` are
    the class's unless given. A secret's value is in no error, and `<name>_FILE` may name a file
    that holds it.
    """
    extra: dict[str, Any] = {"shown": shown, "read_by": read_by, "group": group}
    extra["is_secret"] = is_secret
    if default is not ...:
        more["default"] = default
    return Field(validation_alias=name, repr=not is_secret, json_schema_extra=extra, **more)


class ProcessSettings(BaseSettings):
    """Settings of a process, or some that processes share."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        enable_decoding=False,
        hide_input_in_errors=True,
    )
    group: ClassVar[str]
    """The heading that its variables stand below."""
    read_by: ClassVar[str]
    """The processes that read them, separated by commas."""

    @classmethod
    def read(cls, environment: Mapping[str, str], **more: Any) -> Self:
        """Return what the environment says, and fields that are no variables from `more`.

        Raises WrongSetting.
        """
        given = _Variables(cls, environment)()
        try:
            return cls(**given, **more)
        except ValidationError as error:
            fields = variables(cls)
            shown = {name: text for name, text in given.items() if not is_secret(fields[name])}
            raise WrongSetting("\n".join(words_of(error, shown))) from None

    def by_variable(self) -> dict[str, Any]:
        fields = type(self).model_fields
        values = {str(fields[name].validation_alias): value for name, value in self}
        return {name: value for name, value in values.items() if value}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        # `read` alone reads an environment, and the one that it is given.
        return (init_settings,)


def variables(settings: type[ProcessSettings]) -> dict[str, FieldInfo]:
    named = {field.validation_alias: field for field in settings.model_fields.values()}
    return {name: field for name, field in named.items() if isinstance(name, str)}


def is_secret(field: FieldInfo) -> bool:
    return bool(extra_of(field)["is_secret"])


def extra_of(field: FieldInfo) -> dict[str, Any]:
    """Return what `variable()` was told."""
    extra = field.json_schema_extra
    assert isinstance(extra, dict)
    return extra


class _Variables(EnvSettingsSource):
    """The variables that are set to something, with the content of files that secrets lie in."""

    def __init__(self, settings: type[ProcessSettings], environment: Mapping[str, str]) -> None:
        self._given = {
            name: text
            for name, field in variables(settings).items()
            if (text := _text(name, field, environment))
        }
        super().__init__(settings, case_sensitive=True)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._given


def _text(name: str, field: FieldInfo, environment: Mapping[str, str]) -> str:
    file_name = environment.get(f"{name}_FILE") if is_secret(field) else None
    if not file_name:
        return environment.get(name, "").strip()
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{name}_FILE", file_name, error) from None
