"""
Reading a tree that stops by itself
===================================

People can read a decision tree if it is small. Most trees are grown too large and then pruned. A
:doc:`self-terminating tree </self_terminating>` decides at every branch whether its rows justify a
change. What does such a tree look like, how do you read it, and where do its probabilities come
from?

The data come with scikit-learn and have 178 wines of three growers, with 13 measurements.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from labeltrees import SelfTerminatingTreeClassifier

# sphinx_gallery_thumbnail_number = 3
LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# The tree
# --------
#
# There is nothing to set. The penalty decides how much a branch must differ from its parent. With
# ``penalty="auto"``, it is chosen on rows that ``fit`` holds out.

wine = load_wine()
names = [name.removesuffix("_of_diluted_wines") for name in wine.feature_names]
X, y = wine.data, np.array([f"grower {label + 1}" for label in wine.target])
tree = SelfTerminatingTreeClassifier().fit(X, y)

fig, ax = plt.subplots(figsize=(9.6, 4.6))
tree.plot(names, ax=ax)
ax.set_title("Whose wine is it? A tree that stopped by itself")
plt.show()

# %%
# **What to notice.** The colour is the colour of the most likely grower, and a stronger colour
# means a higher probability. Follow the branches from the top. Nearly all wines are decided by
# ``proline``, and then by ``od280/od315`` or ``flavanoids``. A branch ends if a further split would
# gain less than ``min_gain``. This is the tree as text:

print(tree.export_text(names))

# %%
# One wine on its way down
# ------------------------
#
# A child does not simply take the frequencies of its rows. It moves from its parent's distribution
# towards them, and more rows move it further. So every label has some probability at every node,
# and a small node stays near its parent.

_, leaf_of_row, sizes = np.unique(tree.apply(X), return_inverse=True, return_counts=True)
row = int(np.argmin(sizes[leaf_of_row]))  # one that ends in the smallest leaf
path = tree.decision_path(X[[row]]).indices
steps = tree.model_.core.distributions_at(path.astype(np.int32))
counts = np.array(
    [
        [np.sum(y[rows] == label) for label in tree.classes_]
        for rows in tree.decision_path(X).toarray()[:, path].T > 0
    ]
)
texts = {node: question for node, question, _ in tree.model_.lines(tree.classes_, names)}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
shares = {
    "frequencies of the node's rows": counts / counts.sum(axis=1, keepdims=True),
    "what the node answers": steps,
}
for ax, (title, share) in zip(axes, shares.items(), strict=True):
    left = np.zeros(len(path))
    for label, part, ink in zip(tree.classes_, share.T, ("white", "black", "black"), strict=True):
        bars = ax.barh(range(len(path)), part, left=left, label=label, height=0.7)
        left += part
        written = [f"{value:.2f}" if value > 0.08 else "" for value in part]
        ax.bar_label(bars, written, label_type="center", fontsize=9, color=ink)
    ax.set(xlabel="share", title=title, xlim=(0, 1))
lines = [f"{texts[node]}?" if texts[node] else "leaf" for node in path.tolist()]
rows = counts.sum(axis=1)
axes[0].set_yticks(range(len(path)), [f"{t}\n{n} rows" for t, n in zip(lines, rows, strict=True)])
axes[0].invert_yaxis()
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# **What to notice.** Compare left and right in the last line. The leaf has few rows, all of one
# grower, but it does not predict this grower with certainty.
#
# Smooth probabilities
# --------------------
#
# The log loss on rows that the trees have not learned shows the benefit (ten-fold
# cross-validation). Trees of scikit-learn are measured for comparison.

pure = DecisionTreeClassifier(random_state=0)
for name, model in {
    "self-terminating": tree,
    "grown until leaves are pure": pure,
    "the same, min_samples_leaf=5": DecisionTreeClassifier(random_state=0, min_samples_leaf=5),
}.items():
    p = cross_val_predict(model, X, y, cv=10, method="predict_proba")
    right = np.mean(model.fit(X, y).classes_[p.argmax(axis=1)] == y)
    print(
        f"{name:<29} log loss {log_loss(y, p):.2f}, accuracy {right:.3f}, "
        f"{model.get_n_leaves()} leaves"
    )

# %%
# A map of two of the measurements shows the reason. Colours are mixed in proportion to the
# probabilities.

pair = [names.index("flavanoids"), names.index("proline")]
grid_x, grid_y = np.meshgrid(np.linspace(0.2, 5.2, 160), np.linspace(250, 1700, 160))
grid = np.column_stack([grid_x.ravel(), grid_y.ravel()])
colors = np.array([[0, 107, 164], [255, 128, 14], [171, 171, 171]]) / 255

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
for ax, (name, model) in zip(
    axes, {"self-terminating": tree, "grown until leaves are pure": pure}.items(), strict=True
):
    blend = model.fit(X[:, pair], y).predict_proba(grid) @ colors
    ax.pcolormesh(grid_x, grid_y, blend.reshape(160, 160, 3))
    for label, color, marker in zip(np.unique(y), colors, "os^", strict=True):
        ax.scatter(
            *X[y == label][:, pair].T,
            s=22,
            color=color,
            marker=marker,
            edgecolor="black",
            linewidth=0.7,
            label=label,
        )
    ax.set(xlabel="flavanoids", title=name)
axes[0].set_ylabel("proline")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# **What to notice.** On the right every place has a pure colour, even if wines of two growers are
# close together. A row on the wrong side of a border then has an unlimited loss. On the left the
# colours mix in the same places as the rows.
