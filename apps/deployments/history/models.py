from django.db import models

from controlplane.stamps import StampField


class EnvironmentSwitch(models.Model):
    """An environment has begun to point at a deployment; a trigger writes it with the change."""

    id = models.BigAutoField(primary_key=True)
    environment = models.ForeignKey(
        "deployments.Environment", on_delete=models.CASCADE, related_name="switches"
    )
    deployment = models.ForeignKey(
        "deployments.Deployment", on_delete=models.CASCADE, related_name="switches"
    )
    at = StampField(auto_now_add=True)

    class Meta:
        app_label = "deployments"

    def __str__(self) -> str:
        return f"{self.environment_id} to {self.deployment_id}"
