"""The settings of web, workers and scheduler, who share Django's; and those of `manage.py up`."""

from controlplane.process_settings.addresses import AddressSettings
from controlplane.process_settings.alerts import AlertSettings
from controlplane.process_settings.base import variable
from controlplane.process_settings.builds import BuildSettings
from controlplane.process_settings.common import (
    HOSTS,
    LOGS,
    PLACES,
    CommonSettings,
    MeasuredSettings,
)
from controlplane.process_settings.sign_in import SignInSettings


class LogSettings(CommonSettings):
    """Of logs that are kept, and of what errors show."""

    group = LOGS
    read_by = "web"

    log_retention_days: int = variable("LOG_RETENTION_DAYS", 30, ge=1, read_by="workers")
    """How long logs of builds and engines are kept."""

    log_max_bytes: int = variable("LOG_MAX_BYTES", 20_000_000, ge=10_000, read_by="web, workers")
    """The most that one log keeps."""

    debug: bool = variable("DEBUG", False)
    """`1` for development only: error pages show code and values."""


class SeriesSettings(CommonSettings):
    """Of series: how long each resolution is kept."""

    group = LOGS
    read_by = "web, workers"

    series_ten_seconds_hours: int = variable("SERIES_TEN_SECONDS_HOURS", 1, ge=1)
    """How many hours measurements are kept by 10 seconds."""

    series_minutes_days: int = variable("SERIES_MINUTES_DAYS", 2, ge=1)
    """How many days they are kept by the minute."""

    series_hours_days: int = variable("SERIES_HOURS_DAYS", 60, ge=1)
    """How many days they are kept by the hour."""

    series_days_days: int = variable("SERIES_DAYS_DAYS", 730, ge=1)
    """How many days they are kept by the day."""


class AsyncRequestSettings(CommonSettings):
    """Of asynchronous requests."""

    group = HOSTS
    read_by = "workers"

    async_results_hours: int = variable("ASYNC_RESULTS_HOURS", 24, ge=1)
    """How many hours asynchronous requests are kept after their end, with what the model
    answered."""


class ControlPlaneSettings(
    AddressSettings,
    SignInSettings,
    BuildSettings,
    AlertSettings,
    LogSettings,
    SeriesSettings,
    MeasuredSettings,
    AsyncRequestSettings,
):
    """All that `controlplane/settings.py` hands to Django."""


class UpSettings(CommonSettings):
    """What `manage.py up` was told, beside the control plane's settings."""

    group = PLACES
    read_by = "up"

    database_url: str = variable("DATABASE_URL", "", is_secret=True)

    public_url: str = variable("PUBLIC_URL", "")

    gateway_url: str = variable("GATEWAY_URL", "")

    host: str = variable("HOST", "127.0.0.1")
    """Address to listen on."""

    web_port: int = variable("WEB_PORT", 8000, ge=1, shown="`8000`, else the next free one")
    """Port of the web process."""

    gateway_port: int = variable("GATEWAY_PORT", 8001, ge=1, shown="`8001`, else the next free one")
    """Port of the gateway."""

    gateway_processes: int = variable("GATEWAY_PROCESSES", 1, ge=1, le=64)
