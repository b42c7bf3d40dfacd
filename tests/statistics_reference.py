"""Prints the constants that the tests of core/src/stats compare with.

    pip install numpy scipy statsmodels
    python tests/statistics_reference.py

McNemar and Holm are statsmodels'. The bootstrap over questions alone is scipy's; the one over training seeds and questions,
which scipy lacks, is written out below with numpy.
"""

import numpy as np
from scipy.stats import bootstrap
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

RESAMPLES = 200_000

print("Holm", multipletests([0.01, 0.04, 0.03, 0.005, 0.7, 0.03], method="holm")[1].tolist())
for b, c in [(0, 5), (3, 3), (7, 20), (41, 95), (300, 420)]:
    print("McNemar", b, c, repr(float(mcnemar([[10, b], [c, 4]], exact=True).pvalue)))


def outcomes(seed, condition):
    """40 questions: scores of two methods, without random numbers so that Rust has the same."""
    question = np.arange(40)
    first = (question * 7 + seed * 3 + condition * 5) % 10 < 9 - condition - seed % 2
    second = (question * 3 + seed + condition * 2) % 10 < 8 - 2 * condition + seed % 3
    return np.stack([first, second]).astype(float)


def difference(means):
    return (means[:, 0] - means[:, 1]).mean()


def relative_difference(means):
    return np.subtract(*(means[1:].mean(axis=0) / means[0]))


rng = np.random.default_rng(1)
one = outcomes(0, 1)
found = bootstrap(
    (one[0], one[1]), lambda x, y, axis: (x - y).mean(axis=axis), paired=True, vectorized=True, method="percentile",
    n_resamples=RESAMPLES, rng=rng,
)
print("one seed", (one[0] - one[1]).mean(), list(found.confidence_interval))

data = np.array([[outcomes(seed, condition) for condition in range(3)] for seed in range(4)])  # [seed, condition, method, question]
for statistic in [difference, relative_difference]:
    drawn = []
    for _ in range(RESAMPLES // 4):
        chosen = data[rng.integers(0, 4, 4)]
        questions = rng.integers(0, 40, (1, 3, 1, 40))  # the same for all seeds
        drawn.append(statistic(np.take_along_axis(chosen, questions, axis=3).mean(axis=(0, 3))))
    print(statistic.__name__, statistic(data.mean(axis=(0, 3))), np.percentile(drawn, [2.5, 97.5]).tolist())
