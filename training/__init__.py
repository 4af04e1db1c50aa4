"""Makes the encoders; nothing yet."""
