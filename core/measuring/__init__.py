"""Costs measured on this machine, statistics of a run's rounds, and the closed-form speed-up."""
