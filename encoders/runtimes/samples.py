"""Texts like those the encoders read, to time runtimes on and to check exports by; all written for this purpose."""

_SENTENCES = (
    "We measured the binding affinity of twelve small molecules to the receptor by surface plasmon "
    "resonance (n = 3, p < 0.01).",
    "Patients older than 65 years received either 5 mg of the drug or a placebo once a day for 26 weeks.",
    "Deep convolutional networks trained on 1.2 million images transfer poorly to X-ray data without fine-tuning.",
    "The mean annual temperature of the basin rose by 0.8 degrees between 1961 and 2010, and snow cover "
    "shrank accordingly.",
    "BACKGROUND: Hospital-acquired infections remain a leading cause of death. METHODS: We reviewed 14,302 admissions.",
    "A lower bound of order n log n is proved for comparison-based sorting with partial information.",
    "Expression of IL-6 and TNF-alpha was up-regulated in knock-out mice, whereas CD4+ T cells were unchanged.",
    "Students who explained each step aloud solved twice as many transfer problems as those who only "
    "read the solution.",
    "The perovskite film, annealed at 150 °C, reached a power conversion efficiency of 22.4% under one sun.",
    "Is a Mediterranean diet associated with a lower risk of stroke? A systematic review and "
    "meta-analysis of 31 cohorts.",
    "We introduce a probabilistic model of citation that separates topic, venue and age, and fit it by "
    "variational inference.",
    "SARS-CoV-2 RNA was detected in 37 of 112 wastewater samples, on average six days before the first reported case.",
    "Spectra of the quasar show absorption lines at redshift z = 3.17, consistent with a damped Lyman-alpha system.",
    "Trade liberalisation raised wages in exporting firms, but within-region inequality increased; the "
    "net effect is small.",
    "No significant differences were found between the groups (odds ratio 1.04, 95% CI 0.87-1.25).",
    "The shear modulus of the hydrogel can be tuned from 0.2 to 40 kPa by varying the density of cross-links.",
    "Federated search over heterogeneous digital libraries needs score normalisation; rank fusion avoids "
    "it altogether.",
    "Field trials on wheat in three provinces showed that intercropping with clover reduced nitrogen "
    "leaching by a third.",
    "CASE REPORT: A 43-year-old woman presented with fever, arthralgia and a rash two weeks after "
    "travelling to Brazil.",
    "Our parser handles unbounded recursion, Unicode identifiers and error recovery in linear time.",
    "Zebrafish embryos exposed to 10 nM of the compound developed pericardial oedema within 48 h post fertilisation.",
    "Interviews with nurses revealed four themes: workload, recognition, communication and moral distress.",
    "The turbulent boundary layer over a flat plate at Mach 2.5 was resolved by direct numerical simulation.",
    "Taken together, these results suggest that sleep consolidates spatial memory through hippocampal replay.",
)


def sample_texts() -> list[str]:
    """Return 72 texts of one to twelve sentences: titles, short and long abstracts, the same on every machine."""
    count = len(_SENTENCES)
    texts = []
    for i in range(3 * count):
        length = (1, 2, 4, 7, 9, 12)[i % 6]
        texts.append(" ".join(_SENTENCES[(i + 5 * j) % count] for j in range(length)))
    return texts
