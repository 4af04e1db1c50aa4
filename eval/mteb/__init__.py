"""MTEB's tasks on our encoders and engines."""
