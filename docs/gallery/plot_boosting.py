"""
Boosting: fewer rows that are badly wrong
=========================================

A model can be right on average and far off for some rows. `AdacondClassifier` fits a learner in
several rounds. Each round gives more weight to the rows whose distribution was missed, and the
prediction is a mixture of all rounds. Does this leave fewer rows that are badly wrong? And how does
it change the average?

The targets are *distributions*. They are the shares of a film's viewers who give it one, two, …
five stars. The films are generated in the script. The guide is :doc:`other models </other_models>`.
"""

import matplotlib.pyplot as plt
import numpy as np

from labeltrees import AdacondClassifier, SelfTerminatingTreeClassifier
from labeltrees.metrics import total_variation_by_row

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Films and their stars
# ---------------------
#
# A film has six features. They decide how good it is and how much opinions differ. Sixty viewers
# rate it, so the observed distribution is noisy.

random = np.random.default_rng(0)
n_films = 4_000
X = random.normal(size=(n_films, 6))
quality = 3 + 1.3 * np.tanh(X[:, 0] + 0.7 * X[:, 1]) + 0.5 * np.tanh(X[:, 2])
spread = np.exp(0.6 * np.tanh(2 * X[:, 3]) - 0.3)
stars = np.arange(1, 6)
p_stars = np.exp(-((stars - quality[:, np.newaxis]) ** 2) / (2 * spread[:, np.newaxis] ** 2))
p_stars /= p_stars.sum(axis=1, keepdims=True)
observed = random.multinomial(60, p_stars) / 60
learn, new = slice(0, 2_000), slice(2_000, None)

# %%
# One tree, thirty boosted, thirty averaged
# -----------------------------------------
#
# The error of a row is the total variation of two distributions. This is the share of viewers who
# would have to change their stars to make them equal. An error above ``eta`` counts as badly wrong.
# For comparison, we also take the plain mean of the same number of trees, each trained on rows
# drawn at random (bagging).

ETA, N_TREES = 0.33, 30
alone = SelfTerminatingTreeClassifier().fit(X[learn], observed[learn], classes=stars)
smaller = SelfTerminatingTreeClassifier(penalty=alone.penalty_ / np.sqrt(2))
boosted = AdacondClassifier(smaller, eta=ETA, n_rounds=N_TREES)
boosted.fit(X[learn], observed[learn], classes=stars)

bagged = np.zeros_like(observed[new])
for _ in range(N_TREES):
    times = random.multinomial(2_000, np.full(2_000, 1 / 2_000)).astype(float)
    bagged += smaller.fit(X[learn], observed[learn], times).predict_proba(X[new]) / N_TREES

answers = {
    "one tree": alone.predict_proba(X[new]),
    f"{N_TREES} trees, averaged": bagged,
    f"{N_TREES} trees, boosted": boosted.predict_proba(X[new]),
}
errors = {name: total_variation_by_row(observed[new], p) for name, p in answers.items()}
for name, error in errors.items():
    print(f"{name:<19} mean error {error.mean():.3f}, above {ETA}: {np.mean(error > ETA):.1%}")

# %%
# How wrong are the answers for new films?
# ----------------------------------------

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.9))
bins = np.linspace(0, 0.8, 41)
styles = {
    "one tree": ("C1", "--"),
    f"{N_TREES} trees, averaged": ("C3", ":"),
    f"{N_TREES} trees, boosted": ("C0", "-"),
}
for name, error in errors.items():
    color, line = styles[name]
    left.hist(error, bins, histtype="step", color=color, linestyle=line, linewidth=1.6, label=name)
    right.plot(np.sort(error)[::-1], np.arange(1, len(error) + 1) / len(error), line, color=color)
for ax in (left, right):
    ax.axvspan(ETA, 0.8, color="0.93", zorder=0)
    ax.set(xlabel="error of a film", xlim=(0, 0.8))
left.set(ylabel="films", title="Errors of new films (grey: badly wrong)")
left.legend(frameon=False)
right.set(ylabel="share of films with a larger error", yscale="log", ylim=(1e-3, 1.1))
right.yaxis.set_major_formatter("{x:.1%}")
right.set_title("How many films are worse than that?")
right.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** Look at the grey part, where films are badly wrong. Boosting leaves the fewest
# films there. The plain mean of the same number of trees is also better than one tree, but boosting
# works on the rows that are still wrong.
#
# What the theorem says
# ---------------------
#
# For the training rows there is a proof. After each round the share of rows above eta is below a
# bound that shrinks with the rounds. `AdacondClassifier.plot` draws both. We add the new rows, for
# which there is no such bound.

share = [
    np.mean(total_variation_by_row(observed[new], p) > ETA)
    for p in boosted.staged_predict_proba(X[new])
]
fig, ax = plt.subplots(figsize=(7.2, 4))
boosted.plot(ax=ax)
ax.plot(range(1, len(share) + 1), share, "k:", label="new rows")
ax.set(ylabel="share of rows", yscale="log", ylim=(1e-3, 1.2))
ax.set_title("Rows that are badly wrong, by round")
ax.yaxis.set_major_formatter("{x:.1%}")
ax.legend(frameon=False)
ax.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** The training rows improve to the end, and new rows gain most in the first ten
# rounds. This is not always so. With one label per row instead of a distribution, unpredictable
# rows take all the weight. The guide describes data where boosting is worse.
