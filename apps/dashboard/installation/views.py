from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from apps.accounts.pages import allowed_page
from apps.accounts.permissions import Action
from apps.dashboard.installation.effective import effective_settings
from apps.dashboard.installation.state import installation_state
from apps.ui.fragments import live_answer


@allowed_page(Action.SETTINGS)
@require_safe
def installation(request: HttpRequest) -> HttpResponse:
    state = installation_state()
    context = {
        "state": state,
        "versions": [(_NAMES.get(name, name), each) for name, each in state.versions.items()],
        "groups": effective_settings(),
    }
    return live_answer(
        request,
        page="dashboard/settings.html",
        part="dashboard/_installation.html",
        context=context,
    )


_NAMES = {
    "enginehouse": "Enginehouse",
    "python": "Python",
    "django": "Django",
    "djangorestframework": "Django REST framework",
    "celery": "Celery",
    "psycopg": "psycopg",
    "uvicorn": "uvicorn",
    "postgresql": "PostgreSQL",
}
