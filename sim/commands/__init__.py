"""The command line of the simulator: `run`, `sweep` and `list`."""
