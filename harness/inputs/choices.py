"""The names of the statistical methods that users choose between, and the defaults, in this one place: the command line
takes its choices from here, the records of options check against them, and reports take the titles. It imports nothing,
so that `harness --help` stays fast."""

RESAMPLES, LEVEL, SEED = 10_000, 0.95, 12345

TESTS = ("bootstrap", "randomization")
"""Of a paired comparison."""
ALTERNATIVES = ("two-sided", "better", "worse")
"""What a comparison looks for: any difference, or one in this direction only."""
CORRECTIONS = {
    "max-t": "step-down max-T",
    "holm": "Holm",
    "bh": "Benjamini and Hochberg",
    "none": "not adjusted",
}
"""Of p-values over a family of hypotheses, each with its title."""
CORRECTION = "max-t"
METHODS = ("auto", "expanded", "percentile", "basic", "bca", "normal", "studentized", "wilson")
"""Of a score's interval."""
OVER_SEEDS = "t over seeds"
"""The method of an interval that allows for new seeds, which is not chosen."""
LOG_T, T = "log-t", "t"
"""The methods for BLEU of few examples, on the scale of logarithms, and for differences of it and all scores of up to
six units; they are not chosen."""
METHOD = "auto"
INTERVALS = {
    "expanded": "expanded percentile bootstrap",
    "agresti-coull": "Agresti–Coull",
    "wilson": "Wilson",
    LOG_T: "Student's t of logarithms",
    T: "Student's t with the bootstrap's standard error",
    "tango": "Tango",
    "jackknife": "jackknife",
    **{name: f"{name} bootstrap" for name in ("percentile", "basic", "bca", "normal", "studentized")},
}
"""What an interval was computed by, with its title."""
DIFFERENCE_METHODS = ("auto", "expanded", "percentile", "basic", "bca", "normal")
"""Of the interval of a difference between two systems."""
REPEATS = ("independent", "seeds")
"""What several outputs of an example are: draws for each example by itself, or one of each of the same seeds."""
QUESTIONS = ("outputs", "seeds")
"""What a comparison asks: which of these outputs are better, or which systems would be with new seeds."""
UNITS = ("auto", "examples", "buckets")
"""What is drawn when a score is resampled."""
BUCKETS = 16_384
"""Among how many buckets examples are spread where there are too many to draw one by one."""
META_RESAMPLES = 1_000
"""Of the agreement of metrics with people: as many as WMT's metrics tasks draw."""
META_GROUPS = ("item", "system", "none")
"""Which outputs are compared with each other: those for one item, those of one system, or all."""
META_DRAWN = ("both", "items", "systems")
"""What other data would have had others of."""
