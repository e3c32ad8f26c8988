"""Every figure in README and docs comes from a module here; run one with `python -m benchmarks.NAME`."""
