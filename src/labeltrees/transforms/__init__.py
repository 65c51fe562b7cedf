"""Fitted transformers of scikit-learn beside a model: what makes features of texts and numbers.

`to_tensors` and `from_tensors` turn them into facts and arrays and back, without pickle;
`save_with_transform` and `transform_of` keep one in a model file; `default_text_features` is the
vectoriser for texts. scikit-learn is imported when a transformer is there, not before.
"""

from labeltrees.transforms.conversion import from_tensors, takes_text, to_tensors, width_of
from labeltrees.transforms.features import feature_names
from labeltrees.transforms.files import save_with_transform, transform_of
from labeltrees.transforms.text_features import default_text_features, hashed_text_features

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
