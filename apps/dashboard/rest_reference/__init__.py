"""The REST API's reference as pages, read from the OpenAPI document."""
