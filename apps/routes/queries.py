"""What gateways are told, as one statement a kind: each change of a route asks it again.

`ids` are those that are asked for, or null for all. PostgreSQL folds that before it plans.
"""

from psycopg.sql import SQL

MODELS = """
    SELECT model.id, model.name, model.team_id,
        array_agg(place.name ORDER BY place.id) FILTER (WHERE place.id IS NOT NULL),
        array_agg(coalesce(place.current_id, place.candidate_id) ORDER BY place.id)
            FILTER (WHERE place.id IS NOT NULL)
    FROM deployments_servedmodel AS model
    LEFT JOIN deployments_environment AS place ON place.model_id = model.id
        AND coalesce(place.current_id, place.candidate_id) IS NOT NULL
    WHERE %(ids)s::text[] IS NULL OR model.id = ANY(%(ids)s::text[])
    GROUP BY model.id ORDER BY model.id
"""
"""With the names of environments, and what each points at: a first candidate is named, and waits.
"""

DEPLOYMENTS = """
    SELECT deployment.id, deployment.model_id, deployment.name, deployment.state,
        deployment.runtime, deployment.spec, model.name AS model_name,
        (
            SELECT place.name FROM deployments_environment AS place
            WHERE place.current_id = deployment.id
                OR place.current_id IS NULL AND place.candidate_id = deployment.id
            ORDER BY place.model_id DESC, place.id DESC LIMIT 1
        ) AS environment_name,
        (
            SELECT replica.report ->> 'version' FROM deployments_replica AS replica
            WHERE replica.deployment_id = deployment.id AND replica.state = 'ready'
                AND replica.wanted = 'running' AND replica.port IS NOT NULL
                AND replica.report ->> 'version' <> ''
            ORDER BY replica.id LIMIT 1
        ) AS told_version
    FROM deployments_deployment AS deployment
    JOIN deployments_servedmodel AS model ON model.id = deployment.model_id
    WHERE %(ids)s::text[] IS NULL OR deployment.id = ANY(%(ids)s::text[])
    ORDER BY deployment.id
"""
"""With the last made of several environments, and the version that the first ready replica told."""

REPLICAS = """
    SELECT replica.id, replica.deployment_id, replica.host, replica.port,
        replica.state = 'lost' AS is_suspect,
        replica.probe_port, replica.generation, node.boot_id
    FROM deployments_replica AS replica JOIN fleet_node AS node ON node.id = replica.node_id
    WHERE (%(ids)s::text[] IS NULL OR replica.id = ANY(%(ids)s::text[]))
        AND replica.wanted = 'running' AND replica.port IS NOT NULL
        AND (
            replica.state = 'ready'
            OR replica.state = 'lost' AND replica.ready_at IS NOT NULL
                AND replica.draining_since IS NULL AND replica.probe_port IS NOT NULL
        )
    ORDER BY replica.id
"""
"""Those that are ready, and those that served on nodes which are silent now."""

KEYS = """
    SELECT key.id, key.prefix, key.secret_sha256, key.type, key.team_id, key.model_ids,
        key.environments, key.requests_per_minute, key.tokens_per_minute, key.parallel_requests,
        key.spent_until, key.expires_at
    FROM accounts_apikey AS key LEFT JOIN accounts_user AS owner ON owner.id = key.owner_id
    WHERE (%(ids)s::text[] IS NULL OR key.secret_sha256 = ANY(%(ids)s::text[]))
        AND key.revoked_at IS NULL
        AND (key.expires_at IS NULL OR key.expires_at > %(now)s)
        AND (key.owner_id IS NULL OR owner.is_active)
    ORDER BY key.id
"""

_ID = SQL("SELECT id FROM ({}) AS row")
IDS = {
    "models": _ID.format(SQL(MODELS)),
    "deployments": _ID.format(SQL(DEPLOYMENTS)),
    "replicas": _ID.format(SQL(REPLICAS)),
    "keys": SQL("SELECT secret_sha256 FROM ({}) AS row").format(SQL(KEYS)),
}
"""What these would find; PostgreSQL computes no column that nobody asks for."""
