"""What was seen of a model over two GPUs, and of two replicas with a GPU each."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks import evidence_faults as faults
from benchmarks.evidence_table import about, engine_lines, one_line, section

_GIB = 1024**3


def divided(name: str, found: Mapping[str, Any]) -> str:
    """Return what one engine over both GPUs told, and how fast it answered."""
    deployment = found["deployment"]
    rows = [
        ("weights", found["weights"]),
        ("deployment", f"{deployment['status']}, {deployment['active_replica_count']} replica, "
                       f"active {found['seconds_to_active']} s after the order"),
        *_of_devices(found),
        ("asked twice, through the gateway", _asked(found)),
        *_rates(found["rows"], "through the gateway"),
    ]  # fmt: skip
    title = about("One engine over two GPUs", name)
    return section(title, name, found, rows, engine_lines(found))


def replicas(name: str, found: Mapping[str, Any]) -> str:
    """Return what two engines told, a GPU each, and how their rate adds up."""
    both = found["both"]
    made = " and ".join(f"{tokens:,.0f}" for tokens in both["tokens_made_by_each"])
    rows = [
        ("weights", found["weights"]),
        ("two replicas ready", f"{found['seconds_to_two_ready']} s after the order"),
        *_of_devices(found),
        *_rates(found["rows"], "at one of the engines"),
        *_rates(both["rows"], "through the gateway, over both"),
        ("of the latter each engine made", f"{made} tokens"),
    ]
    title = about("Two replicas of one deployment, a GPU each", name)
    return section(title, name, found, rows, engine_lines(found))


def killed(name: str, found: Mapping[str, Any]) -> str:
    """Return the fault as the others are told, and what was on both GPUs and asked meanwhile."""
    if found.get("state", "done") != "done":
        return faults.told(name, found)
    rows = [
        ("on the GPUs before", _processes(found["before"])),
        ("on the GPUs after", _processes(found["after"])),
        *_requests(found.get("requests")),
        ("deactivated afterwards", f"no process was left on either GPU "
                                   f"{found['taken_down']['seconds_until_inactive']} s later"),
    ]  # fmt: skip
    title = about("On both GPUs around that fault", name)
    return "\n".join([faults.told(name, found), section(title, name, found, rows)])


def _of_devices(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    leased = (f"{each['claimed_bytes'] / _GIB:.1f} GiB" for each in found["leased"])
    yield "leased of each GPU", ", ".join(leased)
    yield "on each GPU", _processes(found["on_each_device"])


def _processes(devices: list[list[Mapping[str, Any]]]) -> str:
    words = [
        " and ".join(f"`{each['name']}` {each['pid']}, {(each['held_bytes'] or 0) / _GIB:.1f} GiB"
                     for each in users) or "nobody"
        for users in devices
    ]  # fmt: skip
    return "; ".join(f"GPU {number}: {each}" for number, each in enumerate(words))


def _asked(found: Mapping[str, Any]) -> str:
    first, again = found["asked"], found["asked_again"]
    same = "the same text both times" if first == again else "another text the second time"
    start = one_line(first["answer"])[:60]
    return f"{first['tokens']} tokens, {same}: “{start}…”"


def _rates(rows: list[Mapping[str, Any]], where: str) -> Iterator[tuple[str, str]]:
    for row in rows:
        rates = [turn["tokens_per_second"] for turn in row["turns"]]
        count = "1 stream" if row["streams"] == 1 else f"{row['streams']} streams"
        yield f"{count}, {where}", f"{max(rates):,} tokens/s ({min(rates):,} in the slowest turn)"


def _requests(told: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    if told is None:
        return
    spans = ("before the kill", "until two replicas were ready again", "after that")
    for words, ended in zip(spans, told["ended"], strict=True):
        how = ", ".join(f"{count} × {one_line(each)}" for each, count in ended.items())
        yield f"requests of {told['clients']} clients begun {words}", how or "none"
    yield "the slowest of them", f"{told['slowest_seconds']} s"
