"""From parameters and samples to a fitted model."""

__all__: list[str] = []
