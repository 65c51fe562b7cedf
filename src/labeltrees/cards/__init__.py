"""Make model cards, which tell what a model is, its training data and how good it is."""

from labeltrees.cards._card import ModelCard, card, card_of, evaluated
from labeltrees.cards._facts import About, label_hash

__all__ = ["About", "ModelCard", "card", "card_of", "evaluated", "label_hash"]
