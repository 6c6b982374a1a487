from django.urls import URLPattern, path

from apps.alerts import views
from apps.alerts.api import AlertDetailView, AlertLimitsView, AlertListView
from apps.alerts.channels import views as channel_views
from apps.alerts.channels.api import (
    AlertChannelDetailView,
    AlertChannelListView,
    AlertChannelTestView,
    AlertDeliveryListView,
)
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "alerts"
urlpatterns: list[URLPattern] = [
    path("", views.alerts, name="list"),
    path("limits/", views.limits, name="limits"),
    path("channels/", channel_views.channels, name="channels"),
    path("channels/<str:channel_id>/", channel_views.channel, name="channel"),
    path("channels/<str:channel_id>/test/", channel_views.test, name="test_channel"),
    path("channels/<str:channel_id>/delete/", channel_views.delete, name="delete_channel"),
]
_CHANNEL = "alert_channels/<id:channel_id>"
api: list[URLPattern] = [
    path("alerts", AlertListView.as_view(), name="alerts"),
    path("alerts/<id:alert_id>", AlertDetailView.as_view(), name="alert"),
    path("alert_limits", AlertLimitsView.as_view(), name="alert_limits"),
    path("alert_channels", AlertChannelListView.as_view(), name="alert_channels"),
    path(_CHANNEL, AlertChannelDetailView.as_view(), name="alert_channel"),
    path(f"{_CHANNEL}/test", AlertChannelTestView.as_view(), name="alert_channel_test"),
    path(f"{_CHANNEL}/deliveries", AlertDeliveryListView.as_view(), name="alert_deliveries"),
]
