"""The page of failures is made of the registry and of what logs are read by."""

from collections import Counter

from controlplane.domain.failures.pattern import Pattern
from controlplane.domain.failures.patterns.table import PATTERNS
from controlplane.domain.failures.reference import families, write_reference
from controlplane.domain.runtimes import RUNTIMES
from controlplane.management.commands.write_failure_reference import REFERENCE

PAGE = write_reference()
KINDS = [kind for family in families() for kind in family.kinds]


def test_the_page_of_failures_is_up_to_date() -> None:
    assert REFERENCE.read_text() == PAGE, "run: manage.py write_failure_reference"


def test_every_code_that_is_raised_or_read_has_one_row() -> None:
    rows = [row.split(" | ")[0] for row in PAGE.splitlines() if row.startswith("| `")]
    codes = Counter(code for row in rows for code in row.removeprefix("| ").split(", "))
    engines = (each for runtime in RUNTIMES.values() for each in runtime.failures.PATTERNS)
    known = {code for kind in (*KINDS, *PATTERNS, *engines) for code in kind.codes}
    assert set(codes) == {f"`{code}`" for code in known}
    assert [code for code, count in codes.items() if count > 1] == []


def test_a_row_says_more_than_that_the_case_says_it() -> None:
    for kind in KINDS:
        meaning = kind.meaning or kind.sentence
        is_echo = meaning.startswith("{") and meaning.endswith("}") and meaning.count("{") == 1
        assert not is_echo or isinstance(kind, Pattern), kind.code


def test_values_stand_on_the_page_by_their_names() -> None:
    assert "| `<repo>` has no revision `<revision>`. |" in PAGE
    assert "*endpoint* answered HTTP *status* for `<repo>`." in PAGE
    assert '{"role", "content"}' in PAGE
    assert "{{" not in PAGE
