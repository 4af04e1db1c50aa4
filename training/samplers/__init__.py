"""In which order the examples of several tasks come (the four strategies of SciRepEval's training code)."""
