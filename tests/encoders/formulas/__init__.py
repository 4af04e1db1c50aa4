"""The papers' formulas in plain numpy, float64, one text at a time: what the package's encoders are tested against.

Every file takes weights under the names that the paper's own checkpoints give them, and shares no code with the
package, so that neither a wrong formula nor a wrong name can agree with itself.
"""
