"""Settings: logs."""

from controlplane.domain.settings_catalogue.setting import Group, Setting

LOGS = Group(
    title="Logs",
    settings=(
        Setting(
            name="LOG_LEVEL",
            default="`INFO`",
            read_by="all",
            says="`DEBUG`, `INFO`, `WARNING` or `ERROR`.",
        ),
        Setting(
            name="LOG_RETENTION_DAYS",
            default="`30`",
            read_by="workers",
            says="How long logs of builds and engines are kept.",
        ),
        Setting(
            name="LOG_MAX_BYTES",
            default="`20000000`",
            read_by="web, workers",
            says="The most that one log keeps.",
        ),
        Setting(
            name="DEBUG",
            default="`0`",
            read_by="web",
            says="`1` for development only: error pages show code and values.",
        ),
    ),
)
