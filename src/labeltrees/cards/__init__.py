"""Model cards: what a model is, what it learned from, how good it is and how to load it."""

from labeltrees.cards.card import ModelCard, card, card_of, evaluated
from labeltrees.cards.facts import About
from labeltrees.cards.labels import label_hash

__all__ = ["About", "ModelCard", "card", "card_of", "evaluated", "label_hash"]
