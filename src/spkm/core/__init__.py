"""The mathematics: the model, the objective, and what a fit leaves behind."""

__all__: list[str] = []
