"""
Calibration: does 70 % mean 70 %?
=================================

Labels that are predicted with probability 70 % should be right in seven of ten cases. This example
measures this for a label tree and for two models of scikit-learn. It does so before and after
*isotonic regression* on held-out rows, which is the usual remedy. Which models need the remedy, and
what does it improve?

The data are the first rows of the :doc:`built-in stream </readers>`. The task is to predict which
of 200 identifiers comes next in Python code. :doc:`Metrics </metrics>` describes how calibration is
measured.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB

from labeltrees import ConditionalTreeClassifier
from labeltrees.data.python_source import PythonSource
from labeltrees.metrics import expected_calibration_error, reliability_curve

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Rows
# ----
#
# scikit-learn's models keep a weight for every label and column, so we fold the stream's hashed
# columns to 2^13 and keep the 200 most frequent labels.

(chunk,) = PythonSource(order="shuffled", limit=30_000, chunk_rows=30_000)
names, counts = np.unique(chunk.labels.astype(str), return_counts=True)
kept = np.isin(chunk.labels.astype(str), names[np.argsort(-counts)[:200]])
found = chunk.features[kept]
X = csr_array((found.data, found.indices % 2**13, found.indptr), shape=(found.shape[0], 2**13))
X.sum_duplicates()
y = chunk.labels[kept].astype(str)
first, second = int(0.5 * len(y)), int(0.75 * len(y))
learn, held_out, new = slice(first), slice(first, second), slice(second, None)
print(f"{first:,} rows to learn, {second - first:,} to calibrate on, {len(y) - second:,} to test")

# %%
# Three models, raw and calibrated
# --------------------------------
#
# For every row we take the five most likely labels and their probabilities. Isotonic regression
# learns from the held-out rows how often labels of a given probability were right. It fits one
# curve for all labels, because most labels have too few rows for a separate curve.

models = {
    "label tree": ConditionalTreeClassifier(),
    "logistic, one against rest": SGDClassifier(loss="log_loss", random_state=0),
    "naive Bayes": MultinomialNB(),
}


def likeliest(model, X, k=5):
    """Return the k most likely labels of each row, and their probabilities."""
    if hasattr(model, "predict_top_k"):
        return model.predict_top_k(X, k)
    p = model.predict_proba(X)
    order = np.argsort(-p, axis=1, kind="stable")[:, :k]
    return model.classes_[order], np.take_along_axis(p, order, axis=1)


answers = {}
for name, model in models.items():
    model.fit(X[learn], y[learn])
    labels, p = likeliest(model, X[held_out])
    is_right = labels == y[held_out][:, np.newaxis]
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    isotonic.fit(p.ravel(), is_right.ravel())
    labels, p = likeliest(model, X[new])
    answers[name] = labels, {"raw": p, "isotonic": isotonic.predict(p.ravel()).reshape(p.shape)}
    print(f"{name:<28} accuracy {np.mean(labels[:, 0] == y[new]):.3f}")

# %%
# Reliability
# -----------
#
# Predictions of similar probability go into the same bin. Each point shows the mean predicted
# probability of a bin and the frequency with which its labels were right.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True)
for ax, kind in zip(axes, ("raw", "isotonic"), strict=True):
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, label="perfectly calibrated")
    for (name, (labels, p)), style in zip(answers.items(), ("C0o-", "C1s-", "C3^-"), strict=True):
        curve = reliability_curve(y[new], labels[:, :1], p[kind][:, :1])
        large = curve.count >= 50  # isotonic regression leaves some bins with few rows
        ax.plot(curve.mean_probability[large], curve.frequency[large], style, label=name)
    ax.set(xlabel="probability of the most likely label", title=kind, aspect="equal")
    ax.grid(alpha=0.3)
axes[0].set_ylabel("how often it was right")
axes[0].legend(frameon=False, loc="upper left", fontsize=9)
plt.show()

# %%
# **What to notice.** Points below the line are overconfident, and points above it are
# underconfident. Naive Bayes is overconfident for nearly all rows. One-against-rest is
# underconfident. Its sigmoids are fitted separately for each label, and after division by their sum
# they are no longer calibrated. The points of the label tree are near the line without any remedy.
#
# The calibration error
# ---------------------
#
# The expected calibration error (ECE@k) is the mean distance from the line over the k most likely
# labels of every row.

fig, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True)
for ax, (name, (labels, p)) in zip(axes, answers.items(), strict=True):
    for place, (kind, color) in enumerate((("raw", "C0"), ("isotonic", "C1"))):
        errors = [
            expected_calibration_error(y[new], labels[:, :k], p[kind][:, :k]) for k in (1, 3, 5)
        ]
        x = np.arange(3) + 0.4 * (place - 0.5)
        bars = ax.bar(x, errors, width=0.38, label=kind, color=color)
        ax.bar_label(bars, fmt="%.3f", padding=2, fontsize=8)
    ax.set(title=name, xticks=range(3), xticklabels=["ECE@1", "ECE@3", "ECE@5"])
axes[0].set_ylabel("calibration error")
axes[0].legend(frameon=False)
plt.show()

# %%
# **What to notice.** Isotonic regression corrects most of the errors of the peers, and there is
# hardly anything to correct for the tree. It needs held-out rows that could have been used for
# training, and the probabilities of a row need not sum to 1 afterwards. It does not change which
# label is most likely. So one-against-rest is about as accurate as the tree here, and naive Bayes
# has the same accuracy as before.
