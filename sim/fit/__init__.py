"""Step costs fitted to measurements: to single steps, or to a run's request times with the scheduler in the loop."""
