"""Where several workers write their figures."""

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of the environment with the folder; read when prometheus-client is imported."""
