"""Whether the fleet offers anything else than it did: one short text to compare."""

from django.db import connection

from controlplane.domain.facts.gpus import IDLE_BYTES

# In the database: ten thousand GPUs must not travel every few seconds.
_STAMP = """
    SELECT md5(concat_ws('|',
        (SELECT string_agg(concat_ws(',', id, cordoned, draining_since, pool, runtimes,
                removed_at IS NULL AND last_heartbeat_at
                    > coalesce((SELECT silent_before FROM fleet_listening), 'epoch')
            ), ';' ORDER BY id) FROM fleet_node),
        (SELECT string_agg(concat_ws(',', id, node_id, kind, pool, memory_bytes, is_present,
                is_clean, used_by = '[]'::jsonb, coalesce(used_bytes, 0) > %s
            ), ';' ORDER BY id) FROM fleet_device),
        (SELECT string_agg(concat_ws(',', pool, team_id), ';' ORDER BY id) FROM fleet_poolteam),
        (SELECT concat_ws(',', count(*), sum(id), sum(memory_bytes)) FROM fleet_devicelease
            WHERE released_at IS NULL)
    ))
"""


def room_stamp() -> str:
    """Return a text that differs once nodes, GPUs, claims or pools offer something else."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP, [IDLE_BYTES])
        return str(cursor.fetchone()[0])
