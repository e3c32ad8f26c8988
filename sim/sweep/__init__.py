"""Sweeps: many variants of one scenario, lazily made, kept as they come, resumed where they stopped."""
