"""
A stream with new labels and a sudden change
============================================

Requests come in all day, and somebody sorts them. New kinds of requests appear; one day most of
the old ones begin to mean something else. A model that learns from the stream must cope with both.
We ask: how likely is it that the next request has a label that nobody has seen? How long does it
take to recover from the change, and does *forgetting* help?

The stream is made in the script. The guides to read are :doc:`conditional trees </conditional>`
and :doc:`incremental learning </incremental>`.
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
# A request has ten words of 4,000. Four of them are typical of its label, the others are noise. A
# few labels are frequent and thousands are rare, so new ones keep coming to the end. From row
# 15,000 on, three in four labels have traded their words in pairs.

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
# scores are honest. The second model forgets: after every 2,500 rows, weights and counts are
# multiplied by the square root of a half, so what was learned 5,000 rows ago counts for half. On
# the command line this is ``labeltrees stream --forget 5000``. The third is a new model that begins
# at the change, which is what can be had if somebody notices.

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
# **What to notice.** The change cannot be foreseen, so all fall. The model that learns on has
# thousands of rows that say the contrary and takes longest to believe the new ones. The one that
# forgets is back sooner; it pays for this while nothing changes, where its line is the lower one. A
# new model, which has nothing to unlearn, is the best after such a break, if somebody notices it.
# So forget where changes are usual, with a half-life of about as many rows as labels keep their
# meaning.
#
# The next label is a new one?
# ----------------------------
#
# With ``novelty=True`` a model keeps probability for labels that it has never seen, and all others
# share the rest. How much it keeps is Good and Turing's estimate: the number of labels seen exactly
# once, over the number of rows.

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
# **What to notice.** The line was drawn before the points beside it were known, and goes through
# them: as many rows bring a new label as were foreseen, without anything to set. That holds as long
# as rare labels are there all the time and are only met late. A wave of new labels, which come out
# of nothing and are frequent at once, is underestimated.
