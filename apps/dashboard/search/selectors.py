from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F
from django.urls import reverse

from apps.accounts.models import Team, User
from apps.builds.models import Build
from apps.configs.models import Config
from apps.dashboard.docs.library import documents
from apps.deployments.models import Deployment, ServedModel
from apps.fleet.models import Node
from apps.secrets.models import Secret
from apps.ui.navigation import GROUPS, audiences_of

EACH = 5
"""Of a kind: who looks for more has its list."""
_ACTIONS = (("New config", "configs:start"), ("Try it", "deployments:try"))


@dataclass(frozen=True, kw_only=True)
class Hit:
    kind: str
    name: str
    url: str
    note: str = ""


def hits(*, user: User, words: str) -> Sequence[Hit]:
    """Return where the words lead, by kind; every place of the product without any words."""
    places = [hit for hit in _places(user) if words.casefold() in hit.name.casefold()]
    if not words:
        return places
    return [*places, *_of_team(user.team, words), *_documents(words)]


def _places(user: User) -> Iterator[Hit]:
    audiences = audiences_of(user)
    for name, route in _ACTIONS:
        yield Hit(kind="Action", name=name, url=reverse(route))
    for group in GROUPS:
        for place in group.places:
            if place.audience in audiences:
                yield Hit(kind="Page", name=place.name, url=reverse(place.route), note=group.name)


def _documents(words: str) -> Iterator[Hit]:
    for each in documents().values():
        if words.casefold() in each.title.casefold():
            url = reverse("dashboard:document", args=[each.path])
            yield Hit(kind="Docs", name=each.title, url=url)


def _of_team(team: Team, words: str) -> Iterator[Hit]:
    yield from _configs(team, words)
    yield from _models(team, words)
    yield from _deployments(team, words)
    yield from _builds(team, words)
    yield from _nodes(words)
    yield from _secrets(team, words)


def _configs(team: Team, words: str) -> Iterator[Hit]:
    configs = Config.objects.filter(team=team, name__icontains=words).order_by("name")[:EACH]
    for id, name in configs.values_list("id", "name"):
        yield Hit(kind="Config", name=name, url=reverse("configs:editor", args=[id]))


def _models(team: Team, words: str) -> Iterator[Hit]:
    models = ServedModel.objects.filter(team=team, name__icontains=words).order_by("name")[:EACH]
    for id, name in models.values_list("id", "name"):
        yield Hit(kind="Model", name=name, url=reverse("deployments:model", args=[id]), note=id)


def _deployments(team: Team, words: str) -> Iterator[Hit]:
    rows = Deployment.objects.filter(model__team=team, name__icontains=words)
    deployments = rows.order_by("-created_at").annotate(of=F("model__name"))[:EACH]
    for id, name, model_id, of in deployments.values_list("id", "name", "model_id", "of"):
        url = reverse("deployments:deployment", args=[model_id, id])
        yield Hit(kind="Deployment", name=name, url=url, note=of)


def _builds(team: Team, words: str) -> Iterator[Hit]:
    rows = Build.objects.filter(team=team).annotate(config=F("revision__config__name"))
    number = words.removeprefix("#").removeprefix("build ")
    if number.isdecimal() and len(number) < _LONGEST_NUMBER:
        rows = rows.filter(number=int(number))
    else:
        rows = rows.filter(config__icontains=words)
    for of_build, config in rows.order_by("-number")[:EACH].values_list("number", "config"):
        url = reverse("builds:build", args=[of_build])
        yield Hit(kind="Build", name=f"Build {of_build}", url=url, note=config)


_LONGEST_NUMBER = 10


def _nodes(words: str) -> Iterator[Hit]:
    rows = Node.objects.filter(removed_at=None, name__icontains=words).order_by("name")[:EACH]
    for id, name in rows.values_list("id", "name"):
        yield Hit(kind="Node", name=name, url=reverse("node_page", args=[id]))


def _secrets(team: Team, words: str) -> Iterator[Hit]:
    rows = Secret.objects.filter(team=team, name__icontains=words).order_by("name")[:EACH]
    for id, name in rows.values_list("id", "name"):
        yield Hit(kind="Secret", name=name, url=reverse("secrets:secret", args=[id]))
