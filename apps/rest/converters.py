"""Path parts that can be identifiers; what cannot be one is a 404 before any query."""

from django.urls import register_converter


class Identifier:
    regex = "[a-z0-9]{1,16}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class RequestIdentifier(Identifier):
    regex = "[a-z0-9]{1,64}"


class Name(Identifier):
    """Names that people give: secrets, environments."""

    regex = "[-._a-zA-Z0-9]{1,253}"


class ArtifactReference(Identifier):
    """An identifier, or a content digest with or without its algorithm."""

    regex = "(?:sha256:)?[a-f0-9]{64}|[a-z0-9]{1,16}"


class Anything(Identifier):
    """What no other path takes, line breaks included."""

    regex = "(?s:.+)"


register_converter(Anything, "anything")
register_converter(Identifier, "id")
register_converter(ArtifactReference, "artifact")
register_converter(Name, "name")
register_converter(RequestIdentifier, "request_id")
