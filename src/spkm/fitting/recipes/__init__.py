"""Ways of fitting, one a file."""

__all__: list[str] = []
