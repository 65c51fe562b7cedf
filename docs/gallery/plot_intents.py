"""
Intents from text, with the words that led there
================================================

What does a customer want? A bank's assistant gets one sentence and has to choose one of fourteen
intents. How often is the prediction right, which *words* led to it, and when should the assistant
ask the customer instead?

The sentences are generated in the script, so it runs everywhere. Two phrasings of every intent are
kept for the test, so the model has not learned any test sentence. The guide to :doc:`texts </text>`
has the details.
"""

import random

import matplotlib.pyplot as plt
import numpy as np

from labeltrees import TextClassifier

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# The sentences
# -------------
#
# Each intent has eight phrasings with places for words of the same kind. The last two are for the
# test.

PHRASINGS = {
    "balance": """
        how much money do i have in my {account} / what is my {account}
        balance / show me what is left in the {account} / is there enough
        money in my {account} for {thing} / tell me the current balance please
        / how much is in my {account} today / can i afford {thing} with my
        {account} balance / do i still have money on my {account}
    """,
    "transfer": """
        send {amount} to {person} / transfer {amount} from my {account} to
        {person} / i want to move {amount} to my {account} / please pay
        {person} {amount} / make a transfer of {amount} {day} / move money
        from {account} to {account} / could you wire {amount} to {person}
        {day} / i need to send money to {person}
    """,
    "card_lost": """
        i lost my {card} / my {card} is gone i cannot find it / somebody stole
        my {card} / i left my {card} in a shop / my wallet with the {card} was
        stolen {day} / where is my {card} i think i lost it / i cannot find my
        {card} anywhere / report a stolen {card}
    """,
    "card_declined": """
        my {card} was declined / why was my {card} rejected at the shop / the
        {card} did not work when i paid for {thing} / my {card} was refused
        {day} / the terminal rejected my {card} / my payment for {thing} was
        declined / why does my {card} not work / the shop refused my {card}
        {day}
    """,
    "pin_change": """
        i forgot my pin / how do i change the pin of my {card} / set a new pin
        for my {card} / i need another pin code / my pin does not work any
        more / reset the pin please / i cannot remember the pin of my {card} /
        can i choose a new pin code {day}
    """,
    "credit_limit": """
        what is my credit limit / raise the limit of my {card} / can i have a
        higher credit limit / i want to spend more than {amount} on my {card}
        / lower my credit limit to {amount} / how much may i spend on my
        {card} / increase my limit to {amount} / is {amount} within my credit
        limit
    """,
    "exchange_rate": """
        what is the exchange rate for {currency} / how many {currency} do i
        get for {amount} / convert {amount} to {currency} / is the rate for
        {currency} good {day} / how much is {amount} in {currency} / i need
        {currency} for my holidays / what do {currency} cost {day} / change
        {amount} into {currency}
    """,
    "loan": """
        i want a loan of {amount} / can i borrow {amount} for {thing} / what
        interest do you take for a loan / how long does it take to get a loan
        / i need to borrow money to buy {thing} / apply for a loan / what
        would a loan for {thing} cost me / lend me {amount}
    """,
    "opening_hours": """
        when do you open {day} / are you open {day} / what are your opening
        hours / until when is the branch open / when does the branch close
        {day} / at what time can i come to the branch / is your branch open
        {day} / how late are you open
    """,
    "fees": """
        what does the {account} cost / why did you charge me {amount} / is
        there a fee for a transfer / how much are the fees of the {card} /
        which fees do i pay abroad / i was charged a fee {day} / do you charge
        a fee for {currency} / why do i pay fees for my {account}
    """,
    "statement": """
        send me the statement of my {account} / i need the statements of last
        year / where can i download my statement / print the transactions of
        my {account} / show the last transactions / what did i spend on
        {thing} last month / i need a statement for the tax office / list all
        transactions of {day}
    """,
    "fraud": """
        i see a payment that i did not make / there is a strange charge of
        {amount} / somebody used my {card} without asking / i do not know this
        transaction of {amount} / i think my {account} was hacked / who took
        {amount} from my {account} / i never bought {thing} but there is a
        charge / a stranger paid with my {card}
    """,
    "change_address": """
        i moved to another town / my address has changed / please update my
        address / i have a new phone number / change my address from {day} on
        / my letters go to the wrong address / i live somewhere else now /
        update my phone number please
    """,
    "close_account": """
        close my {account} / i want to leave your bank / how do i cancel my
        {account} / i do not need the {account} any more / please delete my
        {account} / cancel my {card} i never use it / i would like to cancel
        the {account} {day} / how can i close the {account}
    """,
}
FILLERS = {
    "account": ["savings account", "current account", "account", "joint account", "savings"],
    "card": ["card", "credit card", "debit card", "visa", "bank card"],
    "person": ["my mother", "anna", "the landlord", "tom", "my sister", "the plumber"],
    "amount": ["20 euros", "100 dollars", "five hundred", "1000", "50 pounds", "a thousand euros"],
    "currency": ["dollars", "euros", "yen", "pounds", "swiss francs", "kronor"],
    "day": ["today", "tomorrow", "on saturday", "on monday", "this evening", "next week"],
    "thing": ["a bicycle", "a new car", "the rent", "groceries", "a laptop", "a train ticket"],
}
OPENINGS = ["", "", "", "hello ", "hi there ", "please ", "sorry but ", "excuse me "]

dice = random.Random(0)


def sentence(phrasing: str) -> str:
    """Return a phrasing with its places filled, and now and then a letter missing."""
    for kind, words in FILLERS.items():
        while "{" + kind + "}" in phrasing:
            phrasing = phrasing.replace("{" + kind + "}", dice.choice(words), 1)
    text = dice.choice(OPENINGS) + phrasing
    if dice.random() < 0.2:
        place = dice.randrange(len(text))
        text = text[:place] + text[place + 1 :]
    return text


learn, test = [], []
for intent, text in PHRASINGS.items():
    phrasings = [" ".join(phrasing.split()) for phrasing in text.split("/")]
    learn += [(sentence(phrasing), intent) for phrasing in phrasings[:-2] for _ in range(15)]
    test += [(sentence(phrasing), intent) for phrasing in phrasings[-2:] for _ in range(15)]
texts, intents = zip(*learn, strict=True)
new_texts, new_intents = zip(*test, strict=True)
print(f"{len(texts)} sentences to learn, {len(new_texts)} to test, in phrasings never seen")
print(*dice.sample(new_texts, 3), sep="\n")

# %%
# Learn and test
# --------------

model = TextClassifier().fit(texts, intents)
labels, p = model.predict_top_k(new_texts, 3)
is_right = labels == np.array(new_intents, dtype=object)[:, np.newaxis]
print(f"right: {is_right[:, 0].mean():.3f}")
print(f"right or second or third: {is_right.any(axis=1).mean():.3f}")

# %%
# Which words led there?
# ----------------------
#
# Trees propose a few likely intents. Each of these has a small regressor, its reranker, which
# :doc:`refines </conditional>` the probability of the trees. `TextClassifier.explain` shows how
# much each word contributes for one text and one intent. If you call it for the most likely
# intents, it shows which words separate them.

QUESTION = "why was i charged for a card that i never use"
likely, chances = (part[0] for part in model.predict_top_k([QUESTION], 4))

weights: dict[str, list[float]] = {}
for column, intent in enumerate(likely):
    reason = model.explain(QUESTION, intent, n_features=50)
    for part in reason.refinement.contributions:
        weights.setdefault(part.feature, [0.0] * len(likely))[column] = part.contribution
words = sorted(weights, key=lambda word: -np.ptp(weights[word]))[:12]
table = np.array([weights[word] for word in words])

fig, (top, heat) = plt.subplots(2, 1, figsize=(7.2, 6), height_ratios=[1, 3.2], sharex=True)
bars = top.bar(range(len(likely)), chances, width=0.6)
top.bar_label(bars, fmt="%.2f", padding=2)
top.set(ylim=(0, 1.2 * chances[0]), ylabel="probability", title=f"“{QUESTION}”")
most = np.abs(table).max()
image = heat.imshow(table, cmap="PuOr_r", vmin=-most, vmax=most, aspect="auto")
heat.set_xticks(range(len(likely)), likely)
heat.set_yticks(range(len(words)), words)
heat.spines[:].set_visible(False)
for (row, column), value in np.ndenumerate(table):
    shade = "white" if abs(value) > 0.6 * most else "black"
    heat.text(column, row, f"{value:+.1f}", ha="center", va="center", fontsize=8, color=shade)
fig.colorbar(image, ax=heat, label="against  ←  log-odds  →  for", shrink=0.8)
plt.show()

# %%
# **What to notice.** The sentence could have several intents, and the probabilities show this. Each
# column of the table has the contributions of the words to the reranker of one intent. For example,
# read the row of "charged" or "use" from left to right. Words at the top separate the intents most,
# and a row of one colour decides little. Pairs of neighbouring words are features too.
#
# The whole explanation also shows each turn on the way down the trees:

print(model.explain(QUESTION, likely[0], n_features=2))

# %%
# When to ask back
# ----------------
#
# An assistant that is not sure should ask the customer. It predicts an intent only if the most
# likely intent has at least a given probability.

thresholds = np.linspace(0, 0.99, 100)
answered = np.array([(p[:, 0] >= least).mean() for least in thresholds])
right = np.array([is_right[p[:, 0] >= least, 0].mean() for least in thresholds])

fig, ax = plt.subplots(figsize=(7.2, 3.6))
ax.plot(thresholds, right, label="right, of those answered")
ax.plot(thresholds, answered, linestyle="--", label="answered")
ax.set(
    xlabel="answer if the most likely intent has at least this probability",
    ylabel="share of sentences",
    ylim=(0, 1.02),
    title="Answer, or ask back?",
)
ax.legend(frameon=False, loc="lower left")
ax.grid(alpha=0.3)
plt.show()

# %%
# **What to notice.** The solid line rises, so predictions are more often right if the model is more
# certain. The best threshold depends on the cost of a question to the customer. Choose it on your
# own sentences. :doc:`Prediction sets <plot_prediction_sets>` can guarantee an average coverage.
