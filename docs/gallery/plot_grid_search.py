"""
A pipeline in a grid search
===========================

Every estimator of the library is a scikit-learn estimator, so pipelines, cross-validation and grid
searches work as usual. This example searches the settings of a pipeline of three steps. Which
features of texts are best, and which tree? The score is *log loss*, because we want good
probabilities. The best pipeline is saved to one file without pickle.

The texts are docstrings of Python's standard library, which every machine has. The label is the
module that a docstring comes from. The guide is :doc:`texts </text>`.
"""

import ast
import tempfile
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

import labeltrees
from labeltrees import ConditionalTreeClassifier
from labeltrees.data.python_source import source_files

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Docstrings and their modules
# ----------------------------

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
found = []
for path in source_files():
    if len(found) < 1_200 and not path.name.startswith("test_") and path.stat().st_size > 30_000:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue  # the library has files that are wrong on purpose
        nodes = [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
        texts = {ast.get_docstring(node) or "" for node in nodes}
        module = path.parent.name if path.stem == "__init__" else path.stem
        found += [(text, module) for text in sorted(texts) if len(text) > 40]

frequent = {module for module, n in Counter(module for _, module in found).items() if n >= 25}
texts, modules = zip(*[pair for pair in found if pair[1] in frequent], strict=True)
texts, new_texts, modules, new_modules = train_test_split(
    texts, modules, test_size=0.25, random_state=0, stratify=modules
)
print(f"{len(texts):,} docstrings to learn, {len(new_texts):,} to test, {len(frequent)} modules")

# %%
# The search
# ----------
#
# A pipeline's settings are named by step and parameter. Three-fold cross-validation on the training
# texts compares eighteen pipelines. They have words alone or also pairs of words, 0, 4 or 16
# *refined* labels, and three learning rates. Each fold fits its own vocabulary, so the features do
# not depend on the held-out texts.

pipeline = Pipeline(
    [
        ("count", CountVectorizer()),
        ("weigh", TfidfTransformer(sublinear_tf=True)),
        ("tree", ConditionalTreeClassifier(n_trees=1)),
    ]
)
grid = {
    "count__ngram_range": [(1, 1), (1, 2)],
    "tree__refine": [0, 4, 16],
    "tree__learning_rate": [0.3, 1.0, 3.0],
}
search = GridSearchCV(pipeline, grid, scoring="neg_log_loss", cv=3)
search.fit(texts, modules)
print(search.best_params_)
print(f"cross-validation: log loss {-search.best_score_:.3f}")
print(
    f"new texts: log loss {-search.score(new_texts, new_modules):.3f}, "
    f"accuracy {search.best_estimator_.score(new_texts, new_modules):.3f}"
)

# %%
# Results of the search
# ---------------------

loss = {}
for settings, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    loss[tuple(settings[name] for name in grid)] = -score
ngrams, refines, rates = grid.values()
tables = np.array([[[loss[a, b, c] for c in rates] for b in refines] for a in ngrams])
low, high = tables.min(), tables.max()

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for ax, table, title in zip(axes, tables, ("words", "words and pairs of words"), strict=True):
    image = ax.imshow(table, cmap="cividis", vmin=low, vmax=high, aspect="auto")
    for (row, column), value in np.ndenumerate(table):
        ink = "black" if value > (low + high) / 2 else "white"
        best = value == low
        ax.text(
            column,
            row,
            f"{value:.3f}" + (" ★" if best else ""),
            ha="center",
            va="center",
            color=ink,
            weight="bold" if best else "normal",
        )
    ax.set_xticks(range(len(rates)), rates)
    ax.set_yticks(range(len(refines)), refines)
    ax.set(xlabel="learning_rate", title=title)
    ax.spines[:].set_visible(False)
axes[0].set_ylabel("refine")
fig.colorbar(image, ax=axes, label="log loss, lower is better")
plt.show()

# %%
# **What to notice.** The rows of the tables matter more than the columns. Refinement of the most
# likely labels helps with all other settings. Large learning rates hurt, and the better settings
# differ little. With so small a number of texts, differences of 0.01 may be due to chance.
#
# One file, without pickle
# ------------------------
#
# `labeltrees.save` writes the whole pipeline, including the vocabulary. `labeltrees.load` returns a
# pipeline with the same predictions, to the last bit. The command line reads the file too.

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "modules.safetensors"
    labeltrees.save(search.best_estimator_, file)
    print(f"{file.stat().st_size / 1e6:.1f} MB")
    loaded = labeltrees.load(file)
print(np.array_equal(loaded.predict_proba(new_texts), search.predict_proba(new_texts)))
