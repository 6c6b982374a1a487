from django.urls import URLPattern, path

from apps.builds.passports import views as passport_views
from apps.builds.pushes import views as push_views
from apps.rest import converters as _converters  # noqa: F401  (registers `<artifact:…>`)

app_name = "artifacts"
urlpatterns: list[URLPattern] = [
    path("", passport_views.artifacts, name="list"),
    path("<artifact:artifact_id>/", passport_views.artifact, name="artifact"),
    path("<artifact:artifact_id>/passport.json", passport_views.passport, name="passport"),
    path("<artifact:artifact_id>/delete/", passport_views.delete, name="delete"),
    path("<artifact:artifact_id>/download", passport_views.download, name="download"),
    path("<artifact:artifact_id>/pushes/", push_views.pushes, name="pushes"),
    path(
        "<artifact:artifact_id>/pushes/<id:push_id>/cancel/", push_views.cancel, name="cancel_push"
    ),
    path("<artifact:artifact_id>/pushes/<id:push_id>/retry/", push_views.retry, name="retry_push"),
]
