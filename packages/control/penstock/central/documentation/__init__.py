"""The API's documentation for people, made here from its OpenAPI description."""
