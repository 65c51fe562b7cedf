"""
A stream with new labels and a sudden change
============================================

Requests come in all day, and people sort them. New kinds of requests appear, and one day most of
the old ones change their meaning. A model that learns from the stream must cope with both. How
likely is it that the next request has a new label? How long does the recovery from the change take,
and does *forgetting* help?

The stream is generated in the script. The guides are :doc:`conditional trees </conditional>` and
:doc:`incremental learning </incremental>`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array

from labeltrees import ConditionalTreeClassifier
from labeltrees.metrics import ProgressiveValidation
from labeltrees.models.online.online_model import faded

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# The stream
# ----------
#
# A request has ten words of 4,000. Four of them are typical of its label, and the others are noise.
# A few labels are frequent and thousands are rare, so new labels keep coming to the end. From row
# 15,000 on, three in four labels have swapped their words in pairs.

N_ROWS, CHANGE, N_WORDS, BLOCK = 30_000, 15_000, 4_000, 500
random = np.random.default_rng(0)

n_labels = 5_000
popularity = np.arange(1, n_labels + 1) ** -1.1
labels = random.choice(n_labels, size=N_ROWS, p=popularity / popularity.sum())
typical = random.integers(N_WORDS, size=(n_labels, 12))
label = np.arange(n_labels)
partner = np.where(label % 8 < 6, label ^ 1, label)
meaning = np.where(np.arange(N_ROWS) < CHANGE, labels, partner[labels])
words = random.integers(N_WORDS, size=(N_ROWS, 10))
words[:, :4] = typical[meaning[:, None], random.integers(12, size=(N_ROWS, 4))]

X = csr_array(
    (np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 10)), shape=(N_ROWS, N_WORDS)
)
X.sum_duplicates()
y = np.array([f"request {label}" for label in labels], dtype=object)

# %%
# Three ways to deal with a change
# --------------------------------
#
# Every row is predicted before it is learned (`ConditionalTreeClassifier.progressive_fit`), so all
# scores are honest. The second model forgets. After every 2,500 rows, its weights and counts are
# multiplied by the square root of a half, so rows learned 5,000 rows ago count half. On the command
# line this is ``labeltrees stream --forget 5000``. The third is a new model that begins at the
# change. You can only have it if you notice the change.

HALF_LIFE = 5_000


def learn(begin=0, forget=False):
    """Return scores per block, the novelty mass before it, and the share of new labels in it."""
    model = ConditionalTreeClassifier(novelty=True)
    scores = ProgressiveValidation(n_expected=N_ROWS - begin, block_size=BLOCK)
    expected, observed = [], []
    for start in range(begin, N_ROWS, BLOCK):
        rows = slice(start, start + BLOCK)
        expected.append(model.novelty_mass_ if start > begin else 1.0)
        seen = model.progressive_fit(X[rows], y[rows])
        scores.observe(seen, y[rows])
        observed.append(seen.is_new.mean())
        if forget and (start + BLOCK) % (HALF_LIFE // 2) == 0:
            model.model_ = faded(model.model_, 0.5**0.5)
    return scores.summary().curve, np.array(expected), np.array(observed)


plain, expected, observed = learn()
forgetting, _, _ = learn(forget=True)
new, _, _ = learn(begin=CHANGE)

fig, ax = plt.subplots(figsize=(9, 4))
for curve, begin, name, style in (
    (plain, 0, "learns on", "C0-"),
    (forgetting, 0, f"forgets, half-life {HALF_LIFE:,}", "C1-"),
    (new, CHANGE, "new model after the change", "C3:"),
):
    x = [begin + point.n_rows for point in curve]
    ax.plot(x, [point.accuracy for point in curve], style, label=name)
ax.axvline(CHANGE, color="0.4", linewidth=1, linestyle="--")
ax.annotate(
    "three in four labels trade their words",
    (CHANGE, 0.02),
    (-6, 0),
    color="0.3",
    textcoords="offset points",
    ha="right",
)
ax.set(
    xlabel="rows of the stream",
    ylim=(0, 1),
    xlim=(0, N_ROWS),
    title=f"Accuracy, predicted before learned, by blocks of {BLOCK} rows",
)
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.yaxis.grid(alpha=0.3)
ax.legend(frameon=False, loc="lower right")
plt.show()

# %%
# **What to notice.** The change cannot be predicted, so all accuracies fall. The model without
# forgetting has learned thousands of rows with the old meaning and takes longest to recover. The
# model that forgets recovers sooner, but before the change its accuracy is lower. A new model has
# nothing to unlearn and is the best one after such a break. So use forgetting if changes are usual.
# Choose a half-life of about the number of rows for which labels keep their meaning.
#
# The next label is a new one?
# ----------------------------
#
# With ``novelty=True`` a model reserves probability for labels that it has never seen, and all
# others share the rest. The reserved probability is Good and Turing's estimate, which is the number
# of labels seen exactly once divided by the number of rows.

x = BLOCK * np.arange(1, len(observed))
fig, ax = plt.subplots(figsize=(9, 3.6))
ax.plot(x, observed[1:], ".", color="0.5", label="rows of the next block with a new label")
ax.plot(x, expected[1:], color="C0", label="probability kept for new labels")
ax.set(xlabel="rows of the stream", ylim=(0, None), xlim=(0, N_ROWS))
ax.set_title("How new is the next row?")
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False)
ax.yaxis.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** The line uses only earlier rows, and it goes through the points. So the share
# of rows with a new label is predicted well, without any setting. This holds if rare labels exist
# from the start and are only met late. A wave of new labels that are frequent immediately is
# underestimated.
