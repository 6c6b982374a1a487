"""The catalogue names every code of the source, once, and the page is made of it."""

from collections import Counter

from controlplane.domain.failure_catalogue import CATALOGUE, write_reference
from controlplane.domain.failure_patterns import PATTERNS
from controlplane.domain.runtimes.native.failures import PATTERNS as ENGINE_PATTERNS
from controlplane.management.commands.write_failure_reference import REFERENCE
from tests.domain.failure_patterns.code_scan import codes_in_source, suffixes_in_source

ENTRIES = [entry for family in CATALOGUE for entry in family.entries]
CODES = [code for entry in ENTRIES for code in entry.codes]


def test_every_code_that_can_be_raised_or_read_is_in_the_catalogue() -> None:
    read = {pattern.code for pattern in (*PATTERNS, *ENGINE_PATTERNS)}
    assert codes_in_source() | read <= set(CODES)
    ends = {code.partition("-")[2] for code in CODES}
    assert {suffix.removeprefix("-") for suffix in suffixes_in_source()} <= ends


def test_the_catalogue_names_no_code_that_is_not_used_and_none_twice() -> None:
    read = {pattern.code for pattern in (*PATTERNS, *ENGINE_PATTERNS)}
    known, ends = codes_in_source() | read, suffixes_in_source()
    unused = [
        code for code in CODES if code not in known and f"-{code.partition('-')[2]}" not in ends
    ]
    assert unused == ["EHB-CRASHED"], "which explain() gives to what is unknown"
    assert [code for code, count in Counter(CODES).items() if count > 1] == []


def test_a_pattern_blames_whom_the_failure_of_its_code_blames() -> None:
    blames = {code: entry.blame for entry in ENTRIES for code in entry.codes}
    assert [each.code for each in PATTERNS if blames[each.code] is not each.blame] == []


def test_the_page_of_failures_is_up_to_date() -> None:
    assert REFERENCE.read_text() == write_reference(), "run: manage.py write_failure_reference"
