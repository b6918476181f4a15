"""Timings and stress runs: figures, not tests. `make bench` runs them all."""
