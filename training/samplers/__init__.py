"""In which order the examples of several tasks come: SciRepEval's four strategies, and SciMult's."""
