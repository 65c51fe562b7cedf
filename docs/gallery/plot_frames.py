"""
pandas and polars, in and out
=============================

This example reads data from data frames and writes predictions back into them, with pandas and with
polars. Columns keep their names from the frame to the explanation. Columns of texts and of lists of
labels need no conversion. Predictions become a *long* frame with a line for each row and label,
which can be joined, grouped and drawn.

The table comes with scikit-learn and has 178 wines of three growers. The guides are
:doc:`conditional trees </conditional>` and :doc:`texts </text>`.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
from sklearn.datasets import load_wine

from labeltrees import ConditionalTreeClassifier, TextClassifier

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# A frame of numbers
# ------------------
#
# The estimators take frames of numbers from both libraries. They remember the names of the columns,
# and they reject a frame with other columns or another order.

wine = load_wine(as_frame=True).frame
wine["grower"] = "grower " + (wine.pop("target") + 1).astype(str)
wine = wine.sample(frac=1, random_state=0).reset_index(names="bottle")
columns = ["alcohol", "malic_acid", "ash", "magnesium"]  # with all 13 it is too easy
old, new = wine[:120], wine[120:]

model = ConditionalTreeClassifier().fit(old[columns], old["grower"])
print(model.predict(new[columns])[:3])

as_polars = pl.from_pandas(wine)
same = ConditionalTreeClassifier().fit(as_polars[:120].select(columns), as_polars["grower"][:120])
print(np.array_equal(same.predict(as_polars[120:].select(columns)), model.predict(new[columns])))

try:
    model.predict(new[columns[::-1]])
except ValueError as error:
    print(error)

# %%
# Whole distributions fit into a frame directly, because ``predict_proba`` has a column for each
# label of ``classes_``. An explanation has the names of the columns.

wide = pd.DataFrame(model.predict_proba(new[columns]), columns=model.classes_, index=new["bottle"])
print(wide.head(3).round(3))
unsure = wide.max(axis=1).argmin()
likeliest = wide.columns[wide.iloc[unsure].argmax()]
print(model.explain(new[columns].iloc[[unsure]], likeliest, n_features=3))

# %%
# A long frame of the most likely labels
# --------------------------------------
#
# With many labels, a column for each is too much. ``predict_top_k`` returns two arrays of shape
# (n_rows, k), and a few lines make a frame with a line for each row and rank. In pandas:


def long_pandas(top, keys):
    """Return the answer of ``predict_top_k`` as a frame: key, rank, label, probability."""
    labels, p = top
    frame = pd.DataFrame({"label": labels.ravel(), "p": p.ravel()})
    frame.insert(0, keys.name, np.repeat(keys.to_numpy(), labels.shape[1]))
    frame.insert(1, "rank", np.tile(np.arange(1, labels.shape[1] + 1), len(labels)))
    return frame


print(long_pandas(model.predict_top_k(new[columns], 2), new["bottle"]).head(4))

# %%
# The same in polars:


def long_polars(top, keys):
    """Return the answer of ``predict_top_k`` as a frame: key, rank, label, probability."""
    labels, p = top
    rank = list(range(1, labels.shape[1] + 1))
    lists = {"rank": [rank] * len(p), "label": labels.tolist(), "p": p.tolist()}
    return pl.DataFrame({keys.name: keys} | lists).explode("rank", "label", "p")


asked = as_polars[120:]
answers = long_polars(model.predict_top_k(asked.select(columns), 3), asked["bottle"])
print(answers.head(4))

# %%
# Use of a long frame
# -------------------
#
# Probabilities add up. Their sum over some bottles is the expected number of bottles from a grower.
# A count of the most likely labels gives less information. We join the predictions with the frame
# of bottles and group them by strength in one expression:

strengths = ["up to 12.5 %", "12.5 to 13 %", "13 to 13.5 %", "above 13.5 %"]
bands = asked.select("bottle", "grower", "alcohol").with_columns(
    band=pl.Series(np.array(strengths)[np.digitize(asked["alcohol"], [12.5, 13.0, 13.5])])
)
expected = answers.join(bands, on="bottle").group_by("band", "label").agg(pl.col("p").sum())
actual = bands.group_by("band", label="grower").len("bottles")
table = expected.join(actual, on=["band", "label"], how="left").fill_null(0).sort("band", "label")
print(table.head(4))

fig, ax = plt.subplots(figsize=(8, 4))
place = np.arange(len(strengths))
for side, (column, look) in enumerate({"p": {}, "bottles": {"alpha": 0.55}}.items()):
    floor = np.zeros(len(strengths))
    for label, color in zip(model.classes_, ("C0", "C1", "C2"), strict=True):
        of_band = dict(table.filter(label=label).select("band", column).iter_rows())
        values = np.array([of_band[strength] for strength in strengths])
        named = {} if side else {"label": label}
        ax.bar(place + 0.4 * (side - 0.5), values, 0.36, floor, color=color, **look, **named)
        floor += values
    for x, height in zip(place, floor, strict=True):
        text = "true" if side else "expected"
        ax.text(x + 0.4 * (side - 0.5), height, text, ha="center", va="bottom", fontsize=9)
ax.set_xticks(place, strengths)
ax.set(ylabel="bottles", xlabel="alcohol", title="58 bottles that the model had not learned")
ax.margins(y=0.12)
ax.legend(frameon=False)
plt.show()

# %%
# **What to notice.** The left bars are sums of probabilities, and the right bars are counts. They
# agree well for such a small number of bottles, because the probabilities are calibrated. With an
# accurate but overconfident model, the left bars would only repeat the predicted labels.
#
# Texts and lists of labels
# -------------------------
#
# A column of texts and a column of lists need no conversion. For rows with lists of labels the
# predictions are lists too, which a frame takes as a column.

frame = pl.DataFrame(
    {
        "text": ["sun and no wind", "rain, then sun", "much rain", "wind and rain", "sun"] * 20,
        "tags": [["dry"], ["wet", "dry"], ["wet"], ["wet", "storm"], ["dry"]] * 20,
    }
)
tagger = TextClassifier().fit(frame["text"], frame["tags"])
asked = pl.DataFrame({"text": ["sun after the rain", "wind", "more rain"]})
print(asked.with_columns(tags=pl.Series(tagger.predict(asked["text"]).tolist())))
