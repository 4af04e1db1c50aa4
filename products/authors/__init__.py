"""Authors: papers under one name, grouped by person."""
