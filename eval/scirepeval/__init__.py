"""SciRepEval (Singh et al. 2023): its task file, data, protocols and average."""
