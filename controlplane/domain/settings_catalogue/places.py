"""Settings: where things are."""

from controlplane.domain.settings_catalogue.setting import Group, Setting

PLACES = Group(
    title="Where things are",
    settings=(
        Setting(
            name="DATA_DIR",
            default="`.data` in the source tree",
            read_by="all",
            says="Folder for everything that is kept on this machine.",
        ),
        Setting(
            name="DATABASE_URL",
            default="embedded PostgreSQL",
            read_by="web, workers, up",
            says="`postgresql://user:password@host:5432/name`.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="BROKER_URL",
            default="embedded Valkey",
            read_by="all",
            says="`redis://:password@host:6379/0`; Redis and Valkey both work.",
            is_secret=True,
            may_be_a_file=True,
        ),
        Setting(
            name="ARTIFACT_URL",
            default="`DATA_DIR/artifacts`",
            read_by="web, workers, agent",
            says="`file:///folder` that every host mounts; web and build workers write "
            "there, the control worker removes what nothing names, and folders in it "
            "are as open as it is.",
        ),
        Setting(
            name="PUBLIC_URL",
            default="`http://127.0.0.1:8000`",
            read_by="web, up",
            says="Where browsers reach the pages; links and cookies follow it.",
        ),
        Setting(
            name="GATEWAY_URL",
            default="`http://127.0.0.1:8001`",
            read_by="web, up",
            says="Where applications reach the models.",
        ),
        Setting(
            name="GATEWAY_INTERNAL_URL",
            default="`GATEWAY_URL`",
            read_by="web",
            says="Where the web process itself reaches the gateway, for the [Try it "
            "page](try_it.md).",
        ),
        Setting(
            name="CONTROL_PLANE_URL",
            default="`PUBLIC_URL`",
            read_by="workers, agent, gateway",
            says="Where our own processes reach the web process.",
        ),
        Setting(
            name="ALLOWED_HOSTS",
            default="`localhost,api.localhost,127.0.0.1,[::1]`",
            read_by="web",
            says="Host names that the web process answers to.",
        ),
        Setting(
            name="HOST",
            default="`127.0.0.1`",
            read_by="up",
            says="Address to listen on.",
        ),
        Setting(
            name="WEB_PORT",
            default="`8000`, else the next free one",
            read_by="up",
            says="Port of the web process.",
        ),
        Setting(
            name="GATEWAY_PORT",
            default="`8001`, else the next free one",
            read_by="up",
            says="Port of the gateway.",
        ),
    ),
)
