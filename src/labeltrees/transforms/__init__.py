"""Fitted transformers of scikit-learn that make the features of a model from texts and numbers.

`to_tensors` and `from_tensors` turn them into facts and arrays and back, without pickle.
`save_with_transform` and `transform_of` keep a transformer in a model file. `default_text_features`
returns the vectoriser for texts. scikit-learn is imported only when a transformer is used.
"""

from labeltrees.transforms._conversion import (
    from_tensors,
    save_with_transform,
    takes_text,
    to_tensors,
    transform_of,
    width_of,
)
from labeltrees.transforms._features import (
    default_text_features,
    feature_names,
    hashed_text_features,
)

__all__ = [
    "default_text_features",
    "feature_names",
    "from_tensors",
    "hashed_text_features",
    "save_with_transform",
    "takes_text",
    "to_tensors",
    "transform_of",
    "width_of",
]
