"""Compute vectors from tokens: one file per architecture, written in the operators of `encoders.ops`."""
