"""Output of a child process, byte by byte, into redacted pieces of whole lines."""

import codecs

from controlplane.domain.redaction import Redactor

_LONGEST_LINE = 16_384
_END = "\n"


class LogLines:
    """Gathers bytes; gives back text that ends with a line, redacted, fit for a database.

    A secret may arrive in two reads or stand on two lines, so nothing is given back before its line
    is complete and no known value has begun at its end. A line without an end is cut, keeping back
    as much as the longest known secret needs.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""

    def feed(self, data: bytes) -> str:
        """Return the redacted lines that `data` completes."""
        text = self._rest + self._decode(data).replace("\0", "")
        end = text.rfind("\n") + 1
        if not end and len(text) > _LONGEST_LINE + self._redactor.longest_known:
            return self._cut(text)
        unfinished = self._redactor.unfinished(text[:end])
        if end - unfinished <= _LONGEST_LINE:
            end = text.rfind("\n", 0, unfinished) + 1 if unfinished < end else end
        self._rest = text[end:]
        return self._finished(text[:end])

    def rest(self) -> str:
        """Return the redacted last line, though it has no end; nothing is left behind."""
        text = self._rest + self._decode(b"", final=True)
        self._rest = ""
        return self._finished(f"{text.removesuffix(_END)}{_END}" if text else "")

    def _cut(self, text: str) -> str:
        # Redacted first: the part kept back then cannot hold the end of a secret already out.
        text = self._redactor.text(text)
        end = len(text) - self._redactor.longest_known
        self._rest = text[end:]
        return f"{text[:end]}\n"

    def _finished(self, text: str) -> str:
        return self._redactor.text("\n".join(map(_last_state, text.split("\n"))))


def _last_state(line: str) -> str:
    """Return what a terminal would show of a line that a progress bar wrote over."""
    return line.rstrip("\r").rpartition("\r")[2]
