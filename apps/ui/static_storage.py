"""Static files under hashed names, the modules that scripts import included."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Writes the hashed name of a module wherever another one imports it."""

    support_js_module_import_aggregation = True
