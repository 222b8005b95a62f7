"""Data modules, the feature store, training runs and sweeps."""
