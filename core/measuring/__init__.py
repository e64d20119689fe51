"""Measured costs of this machine, counts over a run's rounds, and the closed-form speed-up."""
