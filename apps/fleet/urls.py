from django.urls import URLPattern, path

from apps.fleet import api as rest
from apps.fleet import internal_api, pools_api, views
from apps.rest import converters as _converters  # noqa: F401  (registers `<id:…>`)

app_name = "fleet"
urlpatterns: list[URLPattern] = [
    path("", views.nodes, name="list"),
    path("pools/", views.assign_pool, name="assign_pool"),
    path("<id:node_id>/labels/", views.label, name="label"),
    path("<id:node_id>/cordon/", views.cordon, name="cordon"),
    path("<id:node_id>/uncordon/", views.uncordon, name="uncordon"),
    path("<id:node_id>/drain/", views.drain, name="drain"),
    path("<id:node_id>/undrain/", views.undrain, name="undrain"),
    path("<id:node_id>/devices/", views.assign_devices, name="assign_devices"),
]
api: list[URLPattern] = [
    path("nodes", rest.NodeListView.as_view(), name="nodes"),
    path("nodes/<id:node_id>/cordon", rest.NodeCordonView.as_view()),
    path("nodes/<id:node_id>/uncordon", rest.NodeUncordonView.as_view()),
    path("nodes/<id:node_id>/drain", rest.NodeDrainView.as_view()),
    path("nodes/<id:node_id>/undrain", rest.NodeUndrainView.as_view()),
    path("devices/<id:device_id>", pools_api.DeviceDetailView.as_view(), name="device"),
    path("pools", pools_api.PoolListView.as_view(), name="pools"),
    path("pools/<name:pool>", pools_api.PoolDetailView.as_view(), name="pool"),
    path("instance_types", rest.InstanceTypeListView.as_view(), name="instance_types"),
]
internal: list[URLPattern] = [
    path("nodes/enroll", internal_api.nodes_enroll),
    path("gateways/enroll", internal_api.gateways_enroll),
]
