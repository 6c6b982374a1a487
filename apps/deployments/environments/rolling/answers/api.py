from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.deployments.environments.api import EnvironmentView
from apps.deployments.environments.promotion_settings import promotion_settings
from apps.deployments.environments.rolling.answers.selectors import answer_check_last
from apps.deployments.environments.rolling.answers.serializers import (
    AnswerCheckObject,
    AnswerGuardWithPrompts,
)
from apps.rest.errors import NotFound


class EnvironmentAnswerGuardView(EnvironmentView):
    @extend_schema(responses=AnswerGuardWithPrompts)
    def get(self, request: Request, **path: str) -> Response:
        """Return the answer guard of an environment with all of its prompts."""
        environment = self.environment()
        guard = promotion_settings(environment)["answer_guard"]
        if guard is None:
            raise NotFound(
                f"Environment `{environment.name}` has no answer guard.",
                hint="Set `promotion_settings.answer_guard` of the environment.",
            )
        return Response(AnswerGuardWithPrompts(guard).data)


class EnvironmentAnswerCheckView(EnvironmentView):
    @extend_schema(responses=AnswerCheckObject)
    def get(self, request: Request, **path: str) -> Response:
        """Return what both deployments of the last guarded promotion answered, side by side."""
        environment = self.environment()
        check = answer_check_last(environment=environment)
        if check is None:
            raise NotFound(
                f"No promotion to `{environment.name}` has asked for answers.",
                hint="Set `promotion_settings.answer_guard` of the environment, then promote.",
            )
        context = {"prompts": check.prompts}
        return Response(AnswerCheckObject(check, context=context).data)
