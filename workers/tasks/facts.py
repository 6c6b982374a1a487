"""Reads what checkpoints say of themselves, so that checks need no network."""

import logging
from threading import Lock, Thread
from typing import Any

from celery import shared_task
from django.conf import settings
from django.db import DatabaseError, connection

from apps.configs.calibration_sets.leasing import PREVIEW
from apps.configs.leasing import FACTS
from apps.configs.services.facts import (
    FactsToRead,
    facts_finish,
    facts_refine,
    facts_to_read,
)
from apps.configs.services.verdicts import verdicts_refresh
from apps.leases.sweeping import leases_sweep
from apps.secrets.services.trials import SECRET_TEST
from controlplane.domain.facts.class_shape import refined, wants_its_class
from controlplane.domain.failures import Failure
from controlplane.domain.failures.registry import any_source
from controlplane.sources import Looked, SourceFailure, SourceOptions, look
from workers.class_shapes.asking import class_shape
from workers.tasks.checkpoint_sources import source_settings
from workers.tasks.leasing import (
    Interrupted,
    LeaseKeeper,
    Unredeemed,
    claimed_one,
    kept,
    redeem_secrets,
    retry_on_db_error,
)
from workers.tasks.ticks import tick

_log = logging.getLogger(__name__)
_ONE_AT_A_TIME = Lock()
"""A class takes a process of its own, with torch in it."""


@shared_task(name="configs.fetch_facts")
def fetch_facts(facts_id: str, **newer: Any) -> None:
    if (lease := claimed_one(FACTS, facts_id)) is None:
        return
    stored = None
    with kept(lease) as keeper:
        stored = _read_and_store(keeper)
    if stored is None:
        return
    verdicts_refresh(facts_id=facts_id)
    if isinstance(stored, Looked) and stored.config and wants_its_class(stored.facts):
        Thread(target=_refine, args=(facts_id, stored), daemon=True).start()


@tick("configs.sweep")
def sweep() -> None:
    for kind in (FACTS, PREVIEW, SECRET_TEST):
        leases_sweep(kind)


def _refine(facts_id: str, looked: Looked) -> None:
    """Let the checkpoint's own class say what the tables do not; checks go on meanwhile.

    Beside the worker's own threads, which sweep: a stranger's config.json may take its time.
    """
    with _ONE_AT_A_TIME:
        shape = class_shape(looked.config, cache_dir=settings.DATA_DIR / "cache")
    if shape is None:
        return
    better = refined(looked.facts, shape)
    try:
        if facts_refine(facts_id=facts_id, read=looked.facts, refined=better):
            verdicts_refresh(facts_id=facts_id)
    except DatabaseError as error:
        _log.warning("facts %s stay as the tables have them: %s", facts_id, type(error).__name__)
    finally:
        connection.close()


def _read_and_store(keeper: LeaseKeeper) -> Looked | Failure | None:
    """Return what was stored; None where the lease was taken and nothing was."""
    lease = keeper.lease
    order = retry_on_db_error(keeper, lambda: facts_to_read(facts_id=lease.id))
    read = _read(keeper, order)
    result = read.facts if isinstance(read, Looked) else read
    is_stored = retry_on_db_error(keeper, lambda: facts_finish(lease=lease, read=result))
    if not is_stored:
        _log.warning("facts %s were taken over; this result is dropped", lease.id)
    return read if is_stored else None


def _read(keeper: LeaseKeeper, order: FactsToRead) -> Looked | Failure:
    try:
        secrets = redeem_secrets(keeper) if order.needs_secret else {}
        token = next(iter(secrets.values()), None)
        return look(order.checkpoint, token=token, options=_options())
    except Unredeemed as error:
        return _unredeemed(error)
    except SourceFailure as error:
        return error.failure
    except Interrupted:
        raise
    except Exception as error:
        # Whatever a stranger's files hold must not leave a check waiting for ever.
        _log.exception("facts %s could not be read", keeper.lease.id)
        return any_source.UNREADABLE.failure(
            repo=order.checkpoint.repo, detail=type(error).__name__
        )


def _unredeemed(error: Unredeemed) -> Failure:
    return error.failure or any_source.NO_SECRET.failure(
        address=settings.CONTROL_PLANE_URL, detail=str(error)
    )


def _options() -> SourceOptions:
    return SourceOptions.from_mapping({**source_settings(), "timeout_seconds": 10, "attempts": 2})
