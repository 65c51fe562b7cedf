"""
Labelwise: whom to show this?
=============================

A shop has a new offer and may write to fifty of its customers. Usually a model predicts the offers
for a given customer. If you reuse these predictions to choose customers, an offer that is not a
favourite of any customer reaches no customers. This example shows the effect.
`ExtremeRegressor.top_rows` returns the best *rows* of a *label*, without scoring all pairs.

Customers and offers are generated in the script, so we know who likes what. The guide is
:doc:`extreme regression </extreme>`.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from labeltrees import ExtremeRegressor

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Customers and offers on a map of tastes
# ---------------------------------------
#
# A customer's taste is a place on a map of two dimensions, and so is an offer. Customers like
# offers that are near, and a few offers are popular with all customers. The model does not see the
# place of a customer. It only sees the distances to 100 landmarks, similar to sales in 100
# departments.

random = np.random.default_rng(0)
N_CUSTOMERS, N_OFFERS = 12_000, 400
customers = random.random((N_CUSTOMERS, 2))
offers = random.random((N_OFFERS, 2))
appeal = np.arange(1, N_OFFERS + 1) ** -0.4
landmarks = random.random((100, 2))


def nearness(a, b, width):
    """Return how near the places a are to the places b, from 0 to 1."""
    squares = ((a[:, np.newaxis] - b) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * width**2))


X = nearness(customers, landmarks, 0.08).astype(np.float32)
X[X < 0.05] = 0
p_likes = appeal * nearness(customers, offers, 0.1)
likes = random.random(p_likes.shape) < p_likes
names = np.array([f"offer {i}" for i in range(N_OFFERS)])
learn, ask = slice(0, 8_000), slice(8_000, None)
print(f"{likes[learn].sum(axis=1).mean():.1f} offers liked per customer")
print("customers who like the least popular ten:", np.sort(likes[learn].sum(axis=0))[:10])

model = ExtremeRegressor().fit(X[learn], likes[learn], classes=names)

# %%
# Two ways to choose the customers of an offer
# --------------------------------------------
#
# *Labelwise* means that ``top_rows`` returns the 50 best customers of each offer. *Turned round*
# means that we take the five best offers of each customer. We then write to the customers who have
# the offer in their list, with the highest probabilities first.

K, LENGTH = 50, 5
begin = time.perf_counter()
best = model.top_rows(X[ask], names, K)
print(f"labelwise: {time.perf_counter() - begin:.2f} s for {N_OFFERS} offers")

listed, p = model.predict_top_k(X[ask], LENGTH)
number = {name: offer for offer, name in enumerate(names)}
turned: list[list[int]] = [[] for _ in names]
for place in np.argsort(-p, axis=None):
    turned[number[listed.flat[place]]].append(place // LENGTH)
reached = np.array([len(rows) for rows in turned])

truth = likes[ask]
by_label = np.array([truth[rows, offer].sum() for offer, rows in enumerate(best.rows)])
by_turning = np.array([truth[rows[:K], offer].sum() for offer, rows in enumerate(turned)])
print(f"offers that turning round shows to nobody: {np.mean(reached == 0):.0%}")

# %%
# One offer on the map
# --------------------
#
# The model does not know the map, but we do. So we can see which customers it chose for one of the
# less popular offers. The picture shows the part of the map around this offer.

inside = np.abs(offers - 0.5).max(axis=1) < 0.25
offer = int(np.flatnonzero(inside & (reached > 2))[reached[inside & (reached > 2)].argmin()])
xy = customers[ask]
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharex=True, sharey=True)
for ax, (title, rows) in zip(
    axes, {"labelwise": best.rows[offer], "turned round": turned[offer][:K]}.items(), strict=True
):
    ax.scatter(*xy.T, s=5, color="0.7", linewidth=0, label="customers")
    ax.scatter(*offers.T, s=30, marker="*", color="C2", label="other offers")
    ax.scatter(*offers[offer], marker="*", s=260, color="C1", label="this offer")
    ax.scatter(*xy[rows].T, s=20, color="C0", label="chosen customers")
    ax.set(title=f"{title}: {len(rows)} customers", xticks=[], yticks=[], aspect="equal")
    ax.set(xlim=offers[offer, 0] + [-0.25, 0.25], ylim=offers[offer, 1] + [-0.25, 0.25])
    ax.spines[:].set_visible(False)
fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# **What to notice.** Labelwise, the model chooses customers around the offer. They are not exactly
# the nearest, because only a few of the training customers liked it. Turned round, it only finds
# customers with this offer in their list of five, and other offers nearby are more popular.
#
# All offers
# ----------

order = np.argsort(-likes[learn].sum(axis=0))
fifths = np.array_split(order, 5)
best_possible = np.array([np.sort(column)[-K:].sum() for column in p_likes[ask].T])
bars = {
    "who likes them most, if one knew": (best_possible, "0.8"),
    "labelwise": (by_label, "C0"),
    "turned round": (by_turning, "C1"),
}
fig, ax = plt.subplots(figsize=(9, 4))
for place, (name, (value, color)) in enumerate(bars.items()):
    x = np.arange(5) + 0.28 * (place - 1)
    drawn = ax.bar(x, [value[part].mean() for part in fifths], 0.26, label=name, color=color)
    ax.bar_label(drawn, fmt="%.1f", padding=2, fontsize=9)
kinds = ["most popular\nfifth of offers", "second", "third", "fourth", "least popular\nfifth"]
ax.set_xticks(range(5), kinds)
ax.set(ylabel=f"of {K} customers", title="Customers chosen who like the offer")
ax.legend(frameon=False)
plt.show()

# %%
# **What to notice.** For popular offers the two ways are nearly equal, because these offers are in
# the lists of all customers they suit. For less popular offers, turning round loses more.
# ``top_rows`` comes close to the result with exact knowledge of the customers' tastes.
#
# Every model of the library has ``top_rows``. With ``exact=True``, an `ExtremeRegressor` proves
# that there are no better rows.
