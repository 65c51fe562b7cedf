"""
A server that predicts and learns
=================================

With ``labeltrees serve`` programs in any language can share a model that learns. It predicts over
HTTP and learns from the answers that people correct. This example starts a server, sends examples,
*kills* it in the middle of the day and starts it again. What does one example change, what is left
after the crash, and how does the server measure its quality?

The script generates the messages of a help desk. The guide is
:doc:`the learning server </server>`, which needs ``pip install 'labeltrees[serve]'``.
"""

import atexit
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from labeltrees import TextClassifier
from labeltrees.client import Client

LOOK = {"axes.spines.top": False, "axes.spines.right": False, "axes.titlelocation": "left"}
plt.style.use(["tableau-colorblind10", LOOK, {"figure.constrained_layout.use": True}])

# %%
# Messages
# --------
#
# A message has two typical words of its topic, one word of any topic, and some others.

TOPICS = {
    "password": "password login forgotten reset account locked expired user",
    "printer": "printer paper jam toner prints page tray scan",
    "network": "wifi network slow connection cable router signal drops",
    "email": "mail inbox attachment spam outlook sender calendar invitation",
    "hardware": "laptop screen keyboard battery broken mouse charger monitor",
    "software": "install update version crash program licence error starts",
}
OTHERS = "my the again please since today cannot help with is does not a new problem we"
dice = random.Random(0)


def message(topic: str) -> str:
    """Return three words of topics and some others, in any order."""
    words = dice.sample(TOPICS[topic].split(), 2) + dice.sample(OTHERS.split(), 5)
    words += dice.choice(list(TOPICS.values())).split()[dice.randrange(8) :][:1]
    dice.shuffle(words)
    return " ".join(words)


def examples(n: int, topics: list[str]) -> list[dict[str, str]]:
    """Return messages with their topics in the format of the server."""
    return [{"text": message(topic), "label": topic} for topic in dice.choices(topics, k=n)]


# %%
# Start a server
# --------------
#
# The server starts with a model of forty messages. ``--port 0`` selects any free port, which the
# server prints.

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
few = examples(40, list(TOPICS))
begun = TextClassifier().partial_fit(
    [each["text"] for each in few], [each["label"] for each in few]
)
begun.save(folder / "begun.safetensors")


def start_server() -> tuple[subprocess.Popen[str], Client]:
    """Start a server of the folder, and return it with a client."""
    model = f"desk={folder / 'begun.safetensors'}"
    command = [sys.executable, "-m", "labeltrees", "serve", folder / "served", "--model", model]
    server = subprocess.Popen(
        [*command, "--port", "0", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    atexit.register(server.kill)
    for line in server.stdout:
        if found := re.search(r"Serving at (http://\S+?)/ ", line):
            return server, Client(found[1])
    raise RuntimeError("the server did not start")


server, client = start_server()
desk = client.model("desk")
QUESTION = {"text": "we cannot hear anybody in the meeting"}


def prediction() -> dict[str, float]:
    """Return the most likely labels of the server, with their probabilities."""
    row = desk.predict([QUESTION], k=4).rows[0]
    return dict(zip(row.labels, row.probabilities, strict=True))


# %%
# Learn, kill, and start again
# ----------------------------
#
# The desk handles 1,500 messages, and the server learns each one after it was dealt with. A message
# about a video conference has no topic yet, so one example adds a new label. When ``learn``
# returns, the example is on disk. Then the process is killed without a chance to save anything.

for _ in range(15):
    desk.learn(examples(100, list(TOPICS)))
predictions = {"before": prediction()}
learned = desk.learn([QUESTION | {"label": "conference"}])
print("new labels:", learned.new_labels)
predictions["after one example"] = prediction()


def kill(server: subprocess.Popen[str], client: Client) -> None:
    """End a server at once."""
    client.close()
    server.kill()
    server.communicate()


kill(server, client)
server, client = start_server()
desk = client.model("desk")
predictions["killed and started again"] = prediction()
same = predictions["after one example"] == predictions["killed and started again"]
print("the same:", same)

# %%

labels = list(dict.fromkeys(label for each in predictions.values() for label in each))
fig, ax = plt.subplots(figsize=(8, 3.8))
for place, (when, each) in enumerate(predictions.items()):
    x = np.arange(len(labels)) + 0.28 * (place - 1)
    ax.bar(x, [each.get(label, 0) for label in labels], 0.25, label=when, color=f"C{place}")
ax.set_xticks(range(len(labels)), labels)
ax.set(ylabel="probability", ylim=(0, 1), title=f"“{QUESTION['text']}”")
ax.legend(frameon=False, loc="upper center")
plt.show()

# %%
# **What to notice.** The label was unknown, and after one example it is the most likely label of
# this text. The crash does not change the model. The second and the third bars are equal to the
# last bit.
#
# How good is it?
# ---------------
#
# The server predicts every example before it learns it, and scores these predictions. So the
# current quality is always known, and a change is visible. In the afternoon the desk also gets
# messages about conferences.

TOPICS["conference"] = "meeting video hear anybody microphone camera invite share"
for _ in range(15):
    desk.learn(examples(100, list(TOPICS)))
quality = desk.quality()
curve = quality["curve"]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=[1.4, 1])
left.plot([each["examples"] for each in curve], [each["accuracy"] for each in curve])
for new in quality["new_labels"]:
    left.axvline(new["seq"], color="0.5", linewidth=1, linestyle="--")
    left.text(new["seq"] - 20, 0.05, f"new: {new['label']}", ha="right", color="0.3")
left.set(xlabel="examples", ylim=(0, 1.04), title="Accuracy before learning, by 100 examples")
left.grid(axis="y", alpha=0.3)
bins = quality["reliability"]
right.plot([0, 1], [0, 1], color="0.6", linewidth=1)
right.plot([each["predicted"] for each in bins], [each["observed"] for each in bins], "o-")
right.set(xlabel="predicted", ylabel="observed", title="Reliability", aspect="equal")
plt.show()

kill(server, client)
temporary.cleanup()

# %%
# **What to notice.** The new topic causes a dip of about a hundred examples, and then it is one
# topic among others. Points above the line show that the model is too cautious here, because more
# of its predictions are correct than it promises. The page of the server draws the same curves
# while the model learns.
