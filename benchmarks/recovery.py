"""What a kill -9 or a stop of any one process costs what is served, and what is built.

Served: a whole Enginehouse with two replicas of a stand-in engine is asked thirty times a
second, each question accounted for, while one process after the other is killed or stopped.
Counted are questions lost, and those worked on twice; usage against what was answered; engines
replaced; what is left over; and the seconds from the end of the fault until everything is true
and stays so. So are a gateway and an agent started anew with a clock that is 40 days off, where
Debian's `faketime` is installed; `clocks_not_run` says that it is not.

Disks: the same, with the folders of gateway, agent, PostgreSQL, Valkey and the artifact store on a
small disk each (as root; else not measured), which is filled up to its last byte for a while.

Hosts: a control plane's host and one more, with a replica each, as their compose files start
them in two network namespaces (as root; else not measured). Both gateways are asked fifteen
times a second while the second host is cut off from the control plane, from the other host, from
the broker, from everything, and powered off. Counted is what is lost at its own gateway, and at
the other one later than three seconds after the cut.

Built: a whole Enginehouse builds a tiny checkpoint, in FP8 and as it is, whose steps stand at
gates until they have been harmed. Kills the build worker in each step (in `calibrate` with half
of the samples done), cancels and kills the step's process in each step, then both at once, then
the servers; stops workers, with and without a word; has PostgreSQL away
for half a minute. Measures the seconds until the state is true
again: another worker's process is at the step, or the build has ended with its cause, or the end of
the step's process is stored (servers; what the step itself takes is no recovery).

The seconds are wall clock, for the product waits in them; the bars are the design's promises.
Exit 1 when one is missed.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.recovery_parts import disks
from benchmarks.recovery_parts.building import builds_harmed
from benchmarks.recovery_parts.faults import FULL, SHORT
from benchmarks.recovery_parts.hosts import cuts, cuts_told, two_serving
from benchmarks.recovery_parts.serving import serving
from benchmarks.recovery_parts.table import faults_told
from benchmarks.web_process import data_folder
from tests.several_hosts.network import namespaces_can_be_made

PARTS = ("serving", "disks", "hosts", "builds")
BARS = {
    "faults_true_seconds_max": report.at_most(15),
    "lost_without_control_plane": report.at_most(0),
    "lost_beyond_in_flight": report.at_most(0),
    "doubled": report.at_most(0),
    "usage_difference": report.at_most(0),
    "engines_replaced_needlessly": report.at_most(0),
    "engines_left_over": report.at_most(0),
    "leases_left": report.at_most(0),
    "full_disk_true_seconds_max": report.at_most(15),
    "lost_by_full_disks": report.at_most(0),
    "doubled_by_full_disks": report.at_most(0),
    "usage_difference_by_full_disks": report.at_most(0),
    "engines_replaced_by_full_disks": report.at_most(0),
    "cuts_true_seconds_max": report.at_most(15),
    "lost_at_its_own_gateway": report.at_most(0),
    "lost_elsewhere_after_noticed": report.at_most(0),
    "engines_replaced_by_cuts": report.at_most(0),
    "leases_left_by_cuts": report.at_most(0),
    "true_state_seconds_max": report.at_most(15),
    "cancelled_seconds_max": report.at_most(5),
    "cancel_seen_seconds_max": report.at_most(2),
    "given_back_seconds_max": report.at_most(6),
    "database_seconds_max": report.at_most(15),
    "step_cancelled_polite_seconds": report.at_most(2),
    "step_cancelled_deaf_seconds": report.at_most(5),
    "orphans": report.at_most(0),
    "half_published": report.at_most(0),
    "devices_still_held": report.at_most(0),
    "builds_lost": report.at_most(0),
}
_QUESTIONS_EACH_SECOND = 30
_OF_TWO_HOSTS = 15
"""At each of the two gateways."""


def main() -> int:
    """Return the exit status: 0 where every bar is met."""
    parser = report.parser(
        __doc__, full="real engines, stops of a minute, and builds in five rounds"
    )
    parser.add_argument("--only", choices=PARTS, help="one part; without --full it is `serving`")
    parser.add_argument("--harm", default="", help="of the builds this one alone, as `kill_both`")
    options = parser.parse_args()
    figures = report.Report(as_json=options.json)
    parts = (options.only,) if options.only else PARTS if options.full else PARTS[:1]
    return figures.end(measure(parts, full=options.full, harm=options.harm), BARS)


def measure(parts: tuple[str, ...], *, full: bool, harm: str = "") -> dict[str, Any]:
    """Return the figures of these parts; those of others are null."""
    figures: dict[str, Any] = dict.fromkeys(BARS)
    if "serving" in parts:
        with (
            data_folder("rec") as folder,
            serving(folder, each_second=_QUESTIONS_EACH_SECOND, real=full) as served,
        ):
            figures |= faults_told(served, FULL if full else SHORT)
    if "disks" in parts:
        with data_folder("rec") as folder:
            figures |= disks.measured(
                folder, each_second=_QUESTIONS_EACH_SECOND, seconds=60 if full else 20
            )
    if "hosts" in parts and namespaces_can_be_made():
        with data_folder("rec") as folder, two_serving(folder, each_second=_OF_TWO_HOSTS) as two:
            figures |= cuts_told(two, cuts(short_seconds=30, long_seconds=300 if full else 40))
    if "builds" in parts:
        with data_folder("rec") as folder:
            figures |= builds_harmed(folder, rounds=5 if full else 1, only=harm)
    return figures


if __name__ == "__main__":
    sys.exit(main())
