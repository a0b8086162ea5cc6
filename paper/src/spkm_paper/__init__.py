"""The experiments of the paper behind spkm: its data sets, the methods it compares with, and its tables and figures."""

__all__ = ["competitors", "datasets", "experiments"]
__version__ = "0.3.0"
