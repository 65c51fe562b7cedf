"""
Completing code: what comes next in Python?
===========================================

Which identifier would you type next? This example learns to predict it from the source of Python's
standard library, which every machine has. There are tens of thousands of labels, new ones keep
coming, and there is no list of them in advance. How soon is the model useful? And how certain is it
while you type?

The data are the :doc:`built-in stream </readers>`, and the model is a :doc:`conditional probability
tree </conditional>`.
"""

import time
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np

from labeltrees import ConditionalTreeClassifier
from labeltrees.data.python_source import PythonSource, next_identifier_features
from labeltrees.metrics import ProgressiveValidation

# sphinx_gallery_thumbnail_number = 3
LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Predict, then learn
# -------------------
#
# An example is a place in a file. Its features are the tokens just before it, and its label is the
# identifier at this place. `ConditionalTreeClassifier.progressive_fit` first predicts each row and
# then learns it. So every row is a test row once, and no rows have to be held out.
#
# The simplest baseline always predicts the most frequent label so far. After every block we also
# make a prediction for one fixed place.

N_EXAMPLES, BLOCK = 100_000, 5_000
QUESTION = "def read(path):\n    with open(path, encoding='utf-8') as "

model = ConditionalTreeClassifier()
scores = ProgressiveValidation(n_expected=N_EXAMPLES, block_size=BLOCK)
rival = ProgressiveValidation(n_expected=N_EXAMPLES, block_size=BLOCK)
counts: Counter[str] = Counter()
answers, n_labels, seconds = [], [], 0.0

for chunk in PythonSource(order="shuffled", limit=N_EXAMPLES, chunk_rows=BLOCK):
    begin = time.perf_counter()
    seen = model.progressive_fit(chunk.features, chunk.labels)
    seconds += time.perf_counter() - begin
    scores.observe(seen, chunk.labels)

    most_frequent = counts.most_common(1)[0][0] if counts else None
    rival.update(np.zeros(chunk.n_rows), chunk.labels == most_frequent)
    counts.update(chunk.labels)

    answers.append(model.predict_top_k(next_identifier_features(QUESTION), 4))
    n_labels.append(len(counts))

print(f"{N_EXAMPLES:,} examples, {len(model.classes_):,} labels")
print(f"{N_EXAMPLES / seconds:,.0f} examples predicted and learned per second")
print(f"accuracy over the last fifth: {scores.summary().tail.accuracy:.3f}")

# %%
# The learning curve
# ------------------

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True)
for validation, name in ((scores, "label tree"), (rival, "most frequent label")):
    curve = validation.summary().curve
    left.plot([point.n_rows for point in curve], [point.accuracy for point in curve], label=name)
left.set(ylabel="accuracy", ylim=(0, None), title="Predicted before learned")
left.legend(frameon=False)
right.plot(BLOCK * np.arange(1, len(n_labels) + 1), n_labels, color="C3")
right.set(ylabel="labels seen", ylim=(0, None), title="New labels keep coming")
for ax in (left, right):
    ax.set_xlabel("examples")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.grid(alpha=0.3)
right.yaxis.set_major_formatter("{x:,.0f}")
plt.show()

# %%
# **What to notice.** The curve is steepest at the beginning. After a few thousand examples the
# model is already far better than the baseline. It continues to improve although every block has
# labels that were not known before. Each new label gets a leaf in the tree when it appears.
#
# While you type
# --------------
#
# The prediction is a distribution. So an editor can decide when to propose one name, when to show a
# list, and when to show nothing. Here are the most likely identifiers at four places.

PLACES = (
    "import os\nimport sys\n\ntry:\n    import ssl\nexcept ",
    "import os\n\ndef listing(folder):\n    return sorted(os.",
    QUESTION,
    "class Stack:\n    def __init__(self, items):\n        self.items = ",
)

fig, axes = plt.subplots(2, 2, figsize=(9, 4.8), sharex=True)
for ax, text in zip(axes.flat, PLACES, strict=True):
    labels, p = model.predict_top_k(next_identifier_features(text), 5)
    bars = ax.barh(labels[0][::-1], p[0][::-1], color="C0")
    ax.bar_label(bars, fmt="%.2f", padding=3, fontsize=9)
    ax.set_title(text.rsplit("\n", 1)[-1].strip() + " …", family="monospace", fontsize=10)
    ax.set(xlim=(0, 1.05), xticks=[0, 0.5, 1])
for ax in axes[-1]:
    ax.set_xlabel("probability")
plt.show()

# %%
# **What to notice.** If one name is usual, it gets most of the probability. If many names are
# possible, the bars are short, and the first proposal is not worth an interruption.
#
# The same place, while the model learns
# --------------------------------------

likeliest = [label for labels, _ in answers[::-1] for label in labels[0]]
names = [name for name, _ in Counter(likeliest).most_common(4)]
shares = np.array(
    [
        [dict(zip(labels[0], p[0], strict=True)).get(name, 0.0) for name in names]
        for labels, p in answers
    ]
)
rest = 1 - shares.sum(axis=1, keepdims=True)

fig, ax = plt.subplots(figsize=(9, 3.6))
colors = ["C0", "C1", "C4", "C5", "0.9"]
examples = BLOCK * np.arange(1, len(answers) + 1)
ax.stackplot(examples, np.hstack([shares, rest]).T, labels=[*names, "all others"], colors=colors)
ax.set(xlabel="examples learned", ylabel="probability", xlim=(BLOCK, N_EXAMPLES), ylim=(0, 1))
ax.set_title(QUESTION.rsplit("\n", 1)[-1].strip() + " …", family="monospace", fontsize=10)
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, reverse=True)
plt.show()

# %%
# **What to notice.** The model soon finds what programmers usually write here, and the share of all
# other labels shrinks. The next example shows :doc:`why a label got its probability
# <plot_intents>`. ``labeltrees demo`` does the same as this one with 1.5 million examples.
