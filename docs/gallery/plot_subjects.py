"""
Subject indexing: many labels per text
======================================

A library gives every document a few of many hundred subjects. Which ones should be proposed, and
how many of them? The documents of this example are the files of Python's standard library, which
every machine has. A file's *subjects* are the modules that it imports. Its *text* is all its other
words, without the names of these modules. How good are the first k proposals, where should the list
end, and how often are rare subjects found?

The model is an :doc:`ExtremeRegressor </extreme>`, and :doc:`decisions </prediction_sets>` choose
the end of the lists.
"""

import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer

from labeltrees import TextClassifier, metrics
from labeltrees.data.python_source import source_files
from labeltrees.decisions import expected_f1_sets, labels_at, threshold_for, weighted_top_k

# sphinx_gallery_thumbnail_number = 2
LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Documents and their subjects
# ----------------------------
#
# Everything that would reveal the subjects is removed. These are the lines that import, and the
# modules' names in all other places.

IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([A-Za-z][\w.]*).*\n", re.MULTILINE)

texts, subjects = [], []
for path in source_files():
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        continue  # the library has files that are wrong on purpose
    modules = set(IMPORT.findall(source))
    names = {part for module in modules for part in module.split(".")}
    words = re.findall(r"[A-Za-z]+", IMPORT.sub("", source)[:5000])
    if modules and len(words) > 30:
        texts.append(" ".join(word for word in words if word not in names))
        subjects.append(sorted(modules))

binarizer = MultiLabelBinarizer(sparse_output=True)
truth = binarizer.fit_transform(subjects)
print(f"{truth.shape[0]:,} documents, {truth.shape[1]:,} subjects")
print(f"{truth.sum() / truth.shape[0]:.1f} subjects per document")

# %%
# Three fifths of the documents are for training, one fifth is held out to choose thresholds, and
# the last fifth is for the test.

first, second = int(0.6 * len(texts)), int(0.8 * len(texts))
learn, held_out, new = slice(first), slice(first, second), slice(second, None)
model = TextClassifier().fit(texts[learn], truth[learn], classes=binarizer.classes_)

labels, p = model.predict_top_k(texts[second : second + 1], 5)
print("subjects: ", *subjects[second])
print("proposals:", *(f"{name} {chance:.2f}" for name, chance in zip(labels[0], p[0], strict=True)))

# %%
# The first k
# -----------
#
# P@k is the share of the first k proposals that are right. Recall@k is the share of a document's
# subjects that are among them. The baseline proposes the most frequent subjects for every document.

P = model.predict_above(texts[new], 0.001)
most_frequent = np.broadcast_to(truth[learn].mean(axis=0), P.shape)
ks = range(1, 11)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True)
for ax, measure, name in zip(
    axes, (metrics.precision_at_k, metrics.recall_at_k), ("P@k", "recall@k"), strict=True
):
    ax.plot(ks, [measure(truth[new], P, k) for k in ks], "o-", label="ExtremeRegressor")
    ax.plot(ks, [measure(truth[new], most_frequent, k) for k in ks], "s--", label="most frequent")
    ax.set(xlabel="k, the number of proposals", title=name, ylim=(0, None), xticks=ks)
    ax.grid(axis="y", alpha=0.3)
axes[0].legend(frameon=False)
plt.show()

# %%
# **What to notice.** No k is right for all documents. With few proposals most subjects are missed,
# and with many most proposals are wrong, because documents have different numbers of subjects.
#
# Where should the list end?
# --------------------------
#
# The probabilities can decide this. A threshold gives long lists if many subjects are likely, and
# short lists if only a few are. `threshold_for` chooses a threshold on the held-out documents. Here
# we take the threshold with the best F1, and the lowest threshold at which four of five proposals
# are right. `expected_f1_sets` needs no held-out documents, because it chooses for each document by
# its probabilities.

P_held_out = model.predict_above(texts[held_out], 0.001)
best_f1 = threshold_for(P_held_out, truth[held_out], "micro_f1").threshold
precise = threshold_for(P_held_out, truth[held_out], "recall", precision=0.8).threshold
rules = {
    f"precision 0.8: p ≥ {precise:.2f}": labels_at(P, precise),
    f"best F1: p ≥ {best_f1:.2f}": labels_at(P, best_f1),
    "expected F1 of each": expected_f1_sets(P).sets,
}


def recall_and_precision(sets):
    """Return both, over all pairs of a new document and a subject."""
    n_right = sets.multiply(truth[new]).sum()
    return n_right / truth[new].sum(), n_right / max(sets.sum(), 1)


by_threshold = [recall_and_precision(labels_at(P, least)) for least in np.geomspace(0.005, 0.9, 50)]
order = model.predict_top_k(texts[new], ks[-1]).labels
first_k = [metrics.label_matrix(order[:, :k], classes=model.classes_) for k in ks]
by_k = [recall_and_precision(sets) for sets in first_k]

fig, ax = plt.subplots(figsize=(7.2, 4.6))
ax.plot(*zip(*by_threshold, strict=True), label="all above a threshold")
ax.plot(*zip(*by_k, strict=True), "s--", markersize=4, label="the first k, k = 1 to 10")
for (name, sets), marker in zip(rules.items(), "oD^", strict=True):
    x, y = recall_and_precision(sets)
    size = sets.sum() / sets.shape[0]
    ax.plot(x, y, marker, color="black", markersize=9, label=f"{name}, {size:.1f} per document")
ax.set(xlabel="recall", ylabel="precision", ylim=(0, 1.02), xlim=(0, 1))
ax.set_title("Which proposals are right, which subjects are found")
ax.legend(frameon=False, loc="lower left")
ax.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** The line of the threshold is above the line of a fixed number. At the same
# precision it finds more subjects. The rules are points on this line or near it. The best rule
# depends on the cost of a wrong proposal for a librarian.
#
# Rare subjects
# -------------
#
# Most subjects belong to few documents, and the first k proposals are mostly frequent ones.
# `weighted_top_k` gives rare subjects a larger weight. The next picture shows, for the new
# documents with a given subject, how often it was among five proposals.

times = np.asarray(truth[learn].sum(axis=0)).ravel()
weights = 1 / np.sqrt(np.maximum(times, 1))
lists = {"likeliest five": first_k[4], "five, rare ones weighted": weighted_top_k(P, 5, weights)}
wanted = np.asarray(truth[new].sum(axis=0)).ravel()

names = ["none", "1-2", "3-5", "6-10", "11-25", "26-50", "51+"]
groups = np.digitize(times, [1, 3, 6, 11, 26, 51])
number = np.bincount(groups, minlength=len(names))
n_wanted = np.bincount(groups, wanted, len(names))

fig, (top, bottom) = plt.subplots(2, 1, figsize=(7.2, 5), sharex=True, height_ratios=[1, 1.6])
bars = top.bar(names, number, color="C2")
top.bar_label(bars, padding=2, fontsize=9)
top.set(ylabel="subjects", title="Subjects, by the number of documents learned that have them")
top.margins(y=0.2)
for place, (name, sets) in enumerate(lists.items()):
    n_right = np.asarray(sets.multiply(truth[new]).sum(axis=0)).ravel()
    share = np.bincount(groups, n_right, len(names)) / np.maximum(n_wanted, 1)
    x = np.arange(len(names)) + 0.4 * (place - 0.5)
    precision = n_right.sum() / sets.sum()
    bars = bottom.bar(x, share, width=0.38, label=f"{name}: precision {precision:.2f}")
    bottom.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
bottom.set(ylabel="found", ylim=(0, 1), xlabel="documents learned with the subject")
bottom.legend(frameon=False, loc="upper left")
plt.show()

# %%
# **What to notice.** A model cannot propose a subject that it never learned. Weights find more of
# the rare subjects and lose some of the frequent ones. The precisions in the legend show the cost.
# With such a small number of documents it is very low, because the model without weights ranks rare
# subjects too low. The :doc:`metrics of several labels </metrics>` have PSP@k, which gives rare
# subjects a larger weight. The page on :doc:`prediction sets </prediction_sets>` has other rules.
