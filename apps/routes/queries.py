"""What gateways are told: of all, of some by id, or of what was named after a version.

Each row is one JSON text: of a change all kinds come as one statement, and so of one moment. What
belongs to a row is looked up by it: to join it, PostgreSQL may read all that a large fleet has.
"""

from psycopg.sql import SQL, Composed

_MODELS = """
    SELECT model.id, model.name, model.team_id,
        array_agg(place.name ORDER BY place.id) FILTER (WHERE place.id IS NOT NULL)
            AS environments,
        array_agg(coalesce(place.current_id, place.candidate_id) ORDER BY place.id)
            FILTER (WHERE place.id IS NOT NULL) AS points_at,
        json_object_agg(place.name, json_build_object(
            'candidate', place.candidate_id,
            'percent', place.promotion -> 'percent_traffic_to_new_version',
            'by_header', place.promotion -> 'by_header'
        ) ORDER BY place.id) FILTER (WHERE place.current_id IS NOT NULL
            AND place.candidate_id IS NOT NULL AND jsonb_exists(place.promotion, 'roll')) AS shares,
        (
            SELECT json_build_object('id', consent.id, 'share', consent.share,
                'kept_seconds', consent.kept_days * 86400)
            FROM configs_trafficconsent AS consent WHERE consent.team_id = model.team_id
        ) AS sampling
    FROM deployments_servedmodel AS model
    LEFT JOIN LATERAL (
        SELECT * FROM deployments_environment AS place
        WHERE place.model_id = model.id
            AND coalesce(place.current_id, place.candidate_id) IS NOT NULL OFFSET 0
    ) AS place ON true
    WHERE {of_these}
    GROUP BY model.id ORDER BY model.id
"""
"""With the names of environments, and what each points at: a first candidate is named, and waits.
And with what goes to the candidate meanwhile, where an environment rolls; and with what the team
lets gateways keep of its traffic."""

_DEPLOYMENTS = """
    SELECT deployment.id, deployment.model_id, deployment.name, deployment.state,
        deployment.runtime, deployment.spec, deployment.wanted_replicas, deployment.autoscaling,
        deployment.backpressure_policy, (
            SELECT name FROM deployments_servedmodel WHERE id = deployment.model_id
        ) AS model_name,
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
        ) AS reported_version
    FROM deployments_deployment AS deployment
    WHERE {of_these}
    ORDER BY deployment.id
"""
"""With the last made of several environments, and the version that the first ready replica told."""

_REPLICAS = """
    SELECT replica.id, replica.deployment_id, replica.host, replica.port,
        replica.state = 'lost' AS is_suspect,
        replica.probe_port, replica.generation,
        (SELECT boot_id FROM fleet_node WHERE id = replica.node_id) AS boot_id
    FROM deployments_replica AS replica
    WHERE {of_these}
        AND replica.wanted = 'running' AND replica.port IS NOT NULL
        AND (
            replica.state = 'ready'
            OR replica.state = 'lost' AND replica.ready_at IS NOT NULL
                AND replica.draining_since IS NULL AND replica.probe_port IS NOT NULL
        )
    ORDER BY replica.id
"""
"""Those that are ready, and those that served on nodes which are silent now."""

_KEYS = """
    SELECT key.id, key.prefix, key.secret_sha256, key.type, key.team_id, key.model_ids,
        key.environments, key.requests_per_minute, key.tokens_per_minute, key.parallel_requests,
        extract(epoch FROM key.spent_until)::float8 AS spent_until,
        extract(epoch FROM key.expires_at)::float8 AS expires_at,
        key.traffic_mark,
        CASE WHEN key.monthly_spend IS NOT NULL
            THEN coalesce(key.live_spend, jsonb_build_object()) END AS spend
    FROM accounts_apikey AS key
    WHERE {of_these}
        AND key.revoked_at IS NULL
        AND (key.expires_at IS NULL OR key.expires_at > %(now)s)
        AND (key.owner_id IS NULL OR (SELECT is_active FROM accounts_user WHERE id = key.owner_id))
    ORDER BY key.id
"""

_KINDS = {
    "models": (_MODELS, SQL("model.id")),
    "deployments": (_DEPLOYMENTS, SQL("deployment.id")),
    "replicas": (_REPLICAS, SQL("replica.id")),
    "keys": (_KEYS, SQL("key.secret_sha256")),
}
_ASKED = SQL("(%(ids)s::text[] IS NULL OR {column} = ANY(%(ids)s::text[]))")
"""PostgreSQL folds that before it plans."""
_NAMED = SQL("{column} = ANY(ARRAY(SELECT name FROM named WHERE kind = {kind}))")


def _of_kind(kind: str, these: SQL) -> Composed:
    statement, column = _KINDS[kind]
    return SQL(statement).format(of_these=these.format(column=column, kind=kind))


ROWS = {
    kind: SQL("SELECT row_to_json(row)::text FROM ({}) AS row").format(_of_kind(kind, _ASKED))
    for kind in _KINDS
}
"""Of those whose `ids` are given, or of all."""
IDS = {
    kind: SQL("SELECT {} FROM ({}) AS row").format(
        SQL("secret_sha256" if kind == "keys" else "id"), _of_kind(kind, _ASKED)
    )
    for kind in _KINDS
}
"""What these would find; PostgreSQL computes no column that nobody asks for."""
_CHANGED = (
    SQL("""
    WITH named AS MATERIALIZED (
        SELECT kind, name FROM accounts_routeschange WHERE version > %(after)s
    )
    SELECT 'version', json_build_array(version, named_version = version)::text
    FROM accounts_routesversion WHERE id = 1
    UNION ALL SELECT 'named', json_build_array(kind, name)::text FROM named
    UNION ALL {}
    """)
    .format(
        SQL(" UNION ALL ").join(
            SQL("SELECT {}, row_to_json(row)::text FROM ({}) AS row").format(
                kind, _of_kind(kind, _NAMED)
            )
            for kind in _KINDS
        )
    )
    .as_string()
)
CHANGED = " ".join(_CHANGED.split())
"""The version, what was named after another one, and the rows of that which are there.

Without its indentation: psycopg reads a statement of more than 4,096 characters anew each time.
"""
