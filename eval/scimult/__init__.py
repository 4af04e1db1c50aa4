"""SciMult's evaluations (Zhang et al. 2023, section 5), on its data files and by the rules of its scripts."""
