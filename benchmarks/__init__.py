"""What the library is measured by: ``python -m benchmarks`` prints it, ``benchmarks/README.md`` explains it."""
