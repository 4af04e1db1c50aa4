"""Support: papers with sentences near in meaning to a sentence."""
