"""Work under a lease: claimed, kept, written under, exchanged for secrets, handed over."""

from workers.tasks.leasing.claiming import claimed, claimed_one, drop_or_hand_over
from workers.tasks.leasing.database_retry import retry_on_db_error
from workers.tasks.leasing.folder import lease_folder
from workers.tasks.leasing.keeper import Interrupted, LeaseKeeper, LeaseStatus
from workers.tasks.leasing.keeping import kept, watched
from workers.tasks.leasing.redeeming import Unredeemed, redeem_secrets
from workers.tasks.leasing.stopping import STOPPING
from workers.tasks.leasing.verdicts import verdict_of

__all__ = [
    "STOPPING",
    "Interrupted",
    "LeaseKeeper",
    "LeaseStatus",
    "Unredeemed",
    "claimed",
    "claimed_one",
    "drop_or_hand_over",
    "kept",
    "lease_folder",
    "redeem_secrets",
    "retry_on_db_error",
    "verdict_of",
    "watched",
]
