"""A query that is compiled once finds what its queryset finds."""

import pytest
from django.db.models import F, Q

from apps.deployments.models import Deployment, Environment
from controlplane.compiled_query import CompiledQuery
from tests.factories import make_deployment

pytestmark = pytest.mark.django_db


def test_it_finds_by_each_value_with_what_is_annotated_and_without_what_is_deferred() -> None:
    deployments = [make_deployment(environment=name) for name in ("production", "staging")]
    compiled = CompiledQuery(
        str,
        lambda id: (
            Environment.objects.filter(Q(current_id=id) | Q(candidate_id=id))
            .annotate(model_name=F("model__name"))
            .defer("promotion")
        ),
    )
    for deployment in deployments:
        (outcome,) = compiled.rows(deployment.id)
        assert (outcome.autoscaling_settings, outcome.model_id) == ({}, deployment.model_id)
        assert (outcome.current_id, outcome.model_name) == (deployment.id, deployment.model.name)
        assert outcome.get_deferred_fields() == {"promotion"}
    assert compiled.first("'; --") is None


def test_it_finds_by_numbers_and_by_lists() -> None:
    made = [make_deployment(wanted_replicas=number) for number in (1, 2, 3)]
    more = CompiledQuery(int, lambda many: Deployment.objects.filter(wanted_replicas__gt=many))
    assert {each.id for each in more.rows(1)} == {made[1].id, made[2].id}
    of = CompiledQuery(
        list, lambda ids: Deployment.objects.extra(where=["id = ANY(%s)"], params=[ids])
    )
    assert {each.id for each in of.rows([made[0].id, made[2].id])} == {made[0].id, made[2].id}
    assert of.rows([]) == []


def test_one_that_does_not_depend_on_its_value_is_refused() -> None:
    with pytest.raises(ValueError, match="does not depend on its value"):
        CompiledQuery(str, lambda _: Deployment.objects.all()).rows("a")
