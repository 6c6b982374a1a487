"""How a config stands, so that two states of it can be compared."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.domain.rules.report import Finding
from controlplane.domain.rules.rule import Severity

Identity = tuple[str, tuple[str, ...]]


def identity(finding: Finding) -> Identity:
    """Return what makes two findings of two states the same one: a rule speaks once, the schema
    once a place."""
    return (finding.code, finding.fields if finding.code.startswith("EH0") else ())


@dataclass(frozen=True, kw_only=True)
class Verdict:
    findings: tuple[Finding, ...]
    is_readable: bool
    """Whether it is a spec at all; nothing but the schema speaks of one that is not."""

    @property
    def rank(self) -> tuple[int, ...]:
        """The smaller the better: what cannot be read, then errors, warnings and hints.

        A fix is offered only where the rank falls, so no row of fixes comes back to where it began.
        """
        counts = Counter(finding.severity for finding in self.findings)
        return (int(not self.is_readable), *(counts[severity] for severity in Severity))

    def has(self, finding: Finding) -> bool:
        return identity(finding) in _identities(self.findings)

    def errors_beyond(self, other: "Verdict") -> tuple[Finding, ...]:
        """Return the errors that another state does not have.

        Behind an unreadable state others may have stood that nobody could see.
        """
        if self.is_readable and not other.is_readable:
            return ()
        known = _identities(_errors(other.findings))
        return tuple(each for each in _errors(self.findings) if identity(each) not in known)


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def _identities(findings: Iterable[Finding]) -> set[Identity]:
    return {identity(finding) for finding in findings}
