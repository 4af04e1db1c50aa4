"""Which layers, counted from 0, SciMult and UniPR give experts or instructions, by the names in their checkpoints."""

_MOST = 100  # no model has that many

EXPERT_LAYERS = {
    "mod2": range(1, _MOST, 2),
    "mod3": range(2, _MOST, 3),
    "mod4": range(3, _MOST, 4),
    "mod6": range(5, _MOST, 6),
    "mod12": range(11, _MOST, 12),
    "ge6mod3": range(5, _MOST, 3),
    "le7mod3": (0, 3, 6),
}

INSTRUCTED_LAYERS = EXPERT_LAYERS | {"all": range(_MOST), "embed": (0,), "ge6": range(6, _MOST)}
