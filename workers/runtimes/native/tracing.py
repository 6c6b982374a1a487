"""Where the native engine tells what it took how long for; it serves without, too."""

import logging
from collections.abc import Mapping

from controlplane.process_settings.wrong import WrongSetting
from controlplane.traces.exporting import Exporter
from workers.runtimes.container.mark import INSTANCE_VARIABLE

log = logging.getLogger(__name__)


def spans_of(environment: Mapping[str, str]) -> Exporter | None:
    """Return what tells the collector that `TRACES_URL` names, if it names one."""
    url = environment.get("TRACES_URL")
    if not url:
        return None
    try:
        return Exporter(url, "enginehouse-engine", environment.get(INSTANCE_VARIABLE, ""))
    except WrongSetting as error:
        log.warning("requests are not traced: %s", error)
        return None
