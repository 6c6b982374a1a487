"""A mail server on loopback that keeps what it is sent; it offers no encryption."""

import socketserver
import threading
from dataclasses import dataclass, field
from typing import Self


@dataclass
class MailServer:
    """Refuses the mailboxes of `refuses` (550), and all mail with `busy` (451)."""

    refuses: frozenset[str] = frozenset()
    busy: bool = False
    mails: list[str] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)

    def __enter__(self) -> Self:
        mail_server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self._say("220 here")
                while line := self.rfile.readline().decode().strip():
                    if line.upper() == "DATA":
                        self._keep()
                    else:
                        self._say(mail_server._answer(line))
                    if line.upper() == "QUIT":
                        return

            def _keep(self) -> None:
                self._say("354 go on")
                lines: list[str] = []
                while (line := self.rfile.readline().decode()) != ".\r\n":
                    lines.append(line)
                mail_server.mails.append("".join(lines))
                self._say("250 taken")

            def _say(self, words: str) -> None:
                self.wfile.write(f"{words}\r\n".encode())

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self._server.server_address[1]}"

    def _answer(self, line: str) -> str:
        verb = line.partition(" ")[0].upper()
        if verb == "QUIT":
            return "221 farewell"
        if verb == "MAIL" and self.busy:
            return "451 later"
        if verb == "RCPT":
            mailbox = line.partition("<")[2].partition(">")[0]
            if mailbox in self.refuses:
                return "550 nobody of that name"
            self.recipients.append(mailbox)
        return "250 fine"
