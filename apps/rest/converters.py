"""Path parts that can be identifiers; what cannot be one is a 404 before any query."""

from django.urls import register_converter


class Identifier:
    regex = "[a-z0-9]{1,16}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class Name(Identifier):
    """Names that people give: secrets, environments."""

    regex = "[-._a-zA-Z0-9]{1,253}"


register_converter(Identifier, "id")
register_converter(Name, "name")
