"""What computes vectors from tokens: one file an architecture, written in the operators of `encoders.ops`."""
