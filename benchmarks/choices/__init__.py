"""Measurements behind past choices of constants, solvers and thresholds: run by name, and no part of a whole run."""
