"""Chooses a share of a consenting team's requests, and keeps the outline of each."""

import asyncio
import logging
import random
from collections.abc import Callable

from workers.full_disk import says_full
from workers.gateway.consents import Consent
from workers.gateway.request import Admission
from workers.gateway.request_body import COMPLETION_ROUTES, Prepared
from workers.gateway.responses.chat_request import ROUTE
from workers.gateway.snapshot import Snapshot
from workers.gateway.traffic_samples.outlines import outlined
from workers.gateway.traffic_samples.prompt_and_answer import prompt_and_answer_in
from workers.gateway.traffic_samples.sample_files import SampleFiles
from workers.gateway.traffic_samples.sample_form import pack
from workers.gateway.traffic_samples.sampled_reply import SampledExchange

log = logging.getLogger(__name__)
LONGEST_REQUEST_BYTES = 1024 * 1024
_OK = 200


class Sampler:
    """One outline is made at a time, in a thread: what comes meanwhile is passed over."""

    def __init__(self, files: SampleFiles, *, chance: Callable[[], float] = random.random) -> None:
        self.files = files
        self._chance = chance
        self._making: asyncio.Task[None] | None = None
        self._disk_fails = False

    def chosen(
        self, snapshot: Snapshot | None, admission: Admission, prepared: Prepared
    ) -> Consent | None:
        model = snapshot.models.get(admission.deployment.model_id) if snapshot else None
        if model is None or (consent := model.consent) is None:
            return None
        says_text = admission.route in COMPLETION_ROUTES or (
            admission.route == ROUTE and prepared.response_parameters is not None
        )
        # What a benchmark or another of our own callers asks says nothing of the team's traffic.
        if admission.key.traffic_mark or not says_text:
            return None
        if len(prepared.body) > LONGEST_REQUEST_BYTES:
            return None
        return consent if self._chance() < consent.share else None

    def take(self, sampled: SampledExchange) -> None:
        """Make and keep its outline, unless one is being made."""
        if self._making is None or self._making.done():
            self._making = asyncio.get_running_loop().create_task(self._take(sampled))

    async def _take(self, sampled: SampledExchange) -> None:
        try:
            await asyncio.to_thread(self._keep, sampled)
        except OSError as error:
            if not self._disk_fails:
                why = "is full" if says_full(error) else "fails"
                log.error("outlines of answers are not kept while the disk %s: %s", why, error)
            self._disk_fails = True
        except Exception as error:
            # Without its trace: that may hold what was said.
            log.error("an outline could not be made: %s", type(error).__name__)
        else:
            self._disk_fails = False

    def _keep(self, sampled: SampledExchange) -> None:
        exchange = prompt_and_answer_in(
            sampled.request_body, sampled.answered, is_stream=sampled.is_stream
        )
        if exchange is None:
            return
        outline = outlined(exchange, sampled.tokens)
        self.files.keep(sampled.consent, sampled.model_id, pack(outline))
