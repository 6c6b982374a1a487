import csv
import io
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.permissions import Action, Role
from apps.accounts.rest_views import TeamView
from apps.deployments import examples
from apps.deployments.usage.spending import Grouping, UsageLine, usage_lines
from apps.fleet.models import DevicePrice
from apps.fleet.selectors import price_history
from apps.fleet.services.prices import price_set
from apps.rest.errors import InvalidInput
from apps.rest.examples import file_shown_as, shown_as
from apps.rest.paging import ListQuery, Pagination, page_of
from apps.rest.serializers import StrictSerializer, validated
from controlplane import clock

LONGEST_DAYS = 366
_COLUMNS = ("day", "id", "name", "requests", "prompt_tokens", "completion_tokens", "money",
            "extra_route_requests")  # fmt: skip
_FORMULA = ("=", "+", "-", "@")


class UsageQuery(StrictSerializer):
    group_by = serializers.ChoiceField(
        choices=[each.value for each in Grouping],
        default="key",
        help_text="What the lines are about: each key, team or model.",
    )
    to = serializers.DateField(required=False, help_text="The last day, in UTC; today without it.")

    def get_fields(self) -> dict[str, Any]:
        since = serializers.DateField(
            required=False, help_text="The first day, in UTC; 29 days before the last without it."
        )
        return {**super().get_fields(), "from": since}


@shown_as(examples.USAGE_LINE)
class UsageLineObject(serializers.Serializer[UsageLine]):
    day = serializers.DateField(help_text="The day, in UTC.")
    id = serializers.CharField(help_text="Of the key, team or model; blank for what none caused.")
    name = serializers.CharField(help_text="Its name.")
    requests = serializers.IntegerField(help_text="Requests that were answered.")
    prompt_tokens = serializers.IntegerField(help_text="Tokens of the prompts.")
    completion_tokens = serializers.IntegerField(help_text="Tokens of the answers.")
    money = serializers.DecimalField(
        max_digits=20,
        decimal_places=6,
        help_text="What the GPUs of that share cost, in the currency of the prices.",
    )
    extra_route_requests = serializers.IntegerField(
        help_text="Of the requests, those on routes that only `enginehouse.extra_routes` opens; "
        "their tokens are not counted."
    )


class UsageObject(serializers.Serializer[Any]):
    usage = UsageLineObject(many=True, help_text="A line for each day and key, team or model.")


@shown_as(examples.PRICE_WANTED)
class PriceBody(StrictSerializer):
    kind = serializers.CharField(max_length=32, help_text="As nodes report it: `H100`, `CPU`.")
    per_hour = serializers.DecimalField(
        max_digits=12,
        decimal_places=4,
        min_value=0,
        help_text="What an hour of one costs, in your currency.",
    )


@shown_as(examples.PRICE)
class PriceObject(serializers.ModelSerializer[DevicePrice]):
    class Meta:
        model = DevicePrice
        fields = ["kind", "per_hour", "since", "set_by"]
        extra_kwargs: ClassVar = {
            "kind": {"help_text": "The kind of GPU, or `CPU`."},
            "per_hour": {"help_text": "What an hour of one costs, in your currency."},
            "since": {"help_text": "From when on."},
            "set_by": {"help_text": "Who said so."},
        }


class PriceListObject(serializers.Serializer[Any]):
    prices = PriceObject(many=True, help_text="Prices, newest first.")
    pagination = Pagination()


class _UsageView(TeamView):
    def lines(self) -> list[UsageLine]:
        """Return what the query asks for: of the team, of all for organisation admins."""
        query = validated(UsageQuery, self.query())
        until = query.get("to") or clock.now().astimezone(UTC).date()
        since = query.get("from") or until - timedelta(days=29)
        if not 0 <= (until - since).days < LONGEST_DAYS:
            raise InvalidInput(
                f"`from` {since} to `to` {until} is not between 1 and {LONGEST_DAYS} days.",
                fields=["from", "to"],
            )
        is_all = self.actor.role == Role.ORGANISATION_ADMIN
        return usage_lines(
            group_by=Grouping(query["group_by"]),
            since=since,
            until=until,
            team_id=None if is_all else self.team.id,
        )


class UsageView(_UsageView):
    @extend_schema(parameters=[UsageQuery], responses=UsageObject)
    def get(self, request: Request) -> Response:
        """Return requests, tokens and money by day and by key, team or model."""
        return Response(UsageObject({"usage": self.lines()}).data)


class UsageCsvView(_UsageView):
    @extend_schema(
        parameters=[UsageQuery],
        responses={(200, "text/csv"): file_shown_as(OpenApiTypes.STR, examples.USAGE_CSV)},
    )
    def get(self, request: Request) -> HttpResponse:
        """Return the same as CSV."""
        return csv_answer(self.lines())


class PriceListView(TeamView):
    actions: ClassVar = {"POST": Action.PRICE}

    @extend_schema(parameters=[ListQuery], responses=PriceListObject)
    def get(self, request: Request) -> Response:
        """Return every price of an hour of a GPU, newest first; the older ones are history."""
        page = page_of(price_history(), by="-since", **validated(ListQuery, request.query_params))
        return Response(page.to_json(PriceObject, under="prices"))

    @extend_schema(request=PriceBody, responses=PriceObject)
    def post(self, request: Request) -> Response:
        """Say what an hour of a kind of GPU costs from the present hour on."""
        body = validated(PriceBody, request.data)
        return Response(PriceObject(price_set(**body, user=self.user)).data)


def csv_answer(lines: list[UsageLine]) -> HttpResponse:
    """Return the lines as a file for spreadsheets, in which no name is a formula."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for line in lines:
        cells = [_cell(getattr(line, name)) for name in _COLUMNS]
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    answer = HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="usage.csv"'
    return answer


def _cell(value: object) -> str:
    # As the JSON has it; `str` would write 0E-14, which few spreadsheets read.
    return f"{value:.6f}" if isinstance(value, Decimal) else str(value)
