"""
Prediction sets with a guaranteed coverage
==========================================

A model that has to name one digit is sometimes wrong and gives no warning. A *prediction set* has
every label that may be right. This is one label if the picture is clear, and several labels if it
is not. Conformal prediction chooses the size of the sets for a given coverage, for example so that
nine of ten sets contain the right label. This works for any model. What do such sets look like? Is
the guarantee kept? And what happens when the pictures get worse?

The pictures are scikit-learn's 1,797 handwritten digits. The guide is :doc:`prediction sets
</prediction_sets>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from labeltrees import ConditionalTreeClassifier
from labeltrees.decisions import ConformalSets

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Train, calibrate, predict
# -------------------------
#
# The model learns from only 300 rows, so that some predictions are uncertain. Another 500 rows
# calibrate the sets. The rest are new rows.

X, y = load_digits(return_X_y=True)
random = np.random.default_rng(0)
order = random.permutation(len(y))
learn, calibrate, new = order[:300], order[300:800], order[800:]

model = ConditionalTreeClassifier().fit(X[learn], y[learn])
truth = np.eye(10, dtype=bool)[y]


def marginals(rows, noise=0.0):
    """Return the probability of each digit; noise is added to the pictures."""
    return model.predict_proba(np.clip(X[rows] + noise * random.normal(size=X[rows].shape), 0, 16))


P, P_new = marginals(calibrate), marginals(new)
sets = ConformalSets(coverage=0.98).calibrate(P, truth[calibrate])
found = sets.predict(P_new).toarray() > 0
is_covered = found[np.arange(len(new)), y[new]]
print(f"the most likely digit is right: {np.mean(P_new.argmax(axis=1) == y[new]):.3f}")
print(f"the right digit is in the set: {is_covered.mean():.3f}, threshold {sets.threshold:.4f}")

# %%
# What sets look like
# -------------------

sizes = found.sum(axis=1)
kinds = {"one digit": sizes == 1, "two digits": sizes == 2, "three or more": sizes >= 3}
fig, axes = plt.subplots(3, 8, figsize=(9, 4.4))
for line, (name, chosen) in zip(axes, kinds.items(), strict=True):
    label = f"{name}\n{chosen.mean():.0%} of sets"
    line[0].text(-0.2, 0.5, label, ha="right", va="center", transform=line[0].transAxes)
    for ax in line:
        ax.set_axis_off()
    for ax, i in zip(line, np.flatnonzero(chosen), strict=False):
        ax.imshow(X[new[i]].reshape(8, 8), cmap="Greys")
        digits = ", ".join(map(str, np.flatnonzero(found[i])))
        ax.set_title(f"{{{digits}}}", fontsize=10, loc="center")
plt.show()

# %%
# **What to notice.** Most sets have a single digit. Large sets belong to pictures that are also
# hard for people. The size of the set is a warning, which a single label cannot give.
#
# Is the guarantee kept?
# ----------------------
#
# The guarantee is about the mean over many calibrations. So we draw the split into calibration rows
# and new rows a hundred times.

rest = np.concatenate([calibrate, new])
P_rest = marginals(rest)
asked = np.array([0.8, 0.9, 0.95, 0.98, 0.99])
reached, mean_size = np.empty((2, len(asked), 100))
for draw in range(100):
    mixed = random.permutation(len(rest))
    part, others = mixed[:500], mixed[500:]
    for place, coverage in enumerate(asked):
        conformal = ConformalSets(coverage).calibrate(P_rest[part], truth[rest[part]])
        answer = conformal.predict(P_rest[others])
        reached[place, draw] = answer.multiply(truth[rest[others]]).sum() / len(others)
        mean_size[place, draw] = answer.sum() / len(others)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.plot([0.75, 1], [0.75, 1], color="0.6", linewidth=1, label="kept exactly")
mean, (low, high) = reached.mean(axis=1), np.quantile(reached, [0.05, 0.95], axis=1)
left.errorbar(
    asked, mean, [mean - low, high - mean], fmt="o", capsize=3, label="mean, and 90 % of 100 splits"
)
left.set(xlabel="requested coverage", ylabel="coverage reached", title="The guarantee")
left.legend(frameon=False)
right.plot(asked, mean_size.mean(axis=1), "o-", color="C5")
right.set(
    xlabel="requested coverage",
    ylabel="digits per set",
    ylim=(0, None),
    title="What it costs",
    xticks=[0.8, 0.85, 0.9, 0.95, 1],
)
for ax in (left, right):
    ax.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** On average the coverage is the requested one, but a single calibration on 500
# rows differs from it by some points. A higher coverage needs larger sets, and above 98 % each
# further half per cent makes them much larger. If the coverage is below the model's accuracy, some
# sets are empty.
#
# When the pictures get worse
# ---------------------------
#
# The guarantee needs new rows that are like the calibration rows. Now a camera gets dirty, and
# after 1,000 pictures there is more and more noise. Sets that were calibrated once lose their
# coverage. With ``step`` and ``window`` the threshold follows the rows whose digits become known.

N_STEPS, CLEAN = 3_000, 1_000
stream = random.choice(new, size=N_STEPS)
noise = np.clip((np.arange(N_STEPS) - CLEAN) / 1_000, 0, 1)[:, None] * 2.5
P_stream = marginals(stream, noise)

fixed = ConformalSets(0.95).calibrate(P, truth[calibrate])
adaptive = ConformalSets(0.95, step=0.02, window=300).update(P, truth[calibrate])
inside, sizes = np.zeros((2, 2, N_STEPS))
for i in range(N_STEPS):
    row, right = P_stream[[i]], truth[stream[[i]]]
    for kind, conformal in enumerate((fixed, adaptive)):
        answer = conformal.predict(row)
        inside[kind, i] = answer.multiply(right).sum()
        sizes[kind, i] = answer.sum()
    adaptive.update(row, right)

fig, (top, bottom) = plt.subplots(2, 1, figsize=(9, 5), sharex=True)
window = np.ones(200) / 200
for kind, name in enumerate(("calibrated once", "step=0.02, window=300")):
    x = np.arange(200, N_STEPS + 1)
    top.plot(x, np.convolve(inside[kind], window, mode="valid"), label=name)
    bottom.plot(x, np.convolve(sizes[kind], window, mode="valid"))
top.axhline(0.95, color="0.5", linewidth=1, linestyle="--", label="requested")
top.set(ylim=(0, 1.04), ylabel="coverage", title="Means of the last 200 pictures")
bottom.set(ylim=(0, 10), ylabel="digits per set", xlabel="pictures; after 1,000 there is noise")
bottom.xaxis.set_major_formatter("{x:,.0f}")
top.legend(frameon=False, loc="lower left")
for ax in (top, bottom):
    ax.grid(axis="y", alpha=0.3)
plt.show()

# %%
# **What to notice.** The adaptive sets stay near the requested coverage. The price is their size,
# because a noisy picture needs a large set. The other sets stay small and are wrong.
