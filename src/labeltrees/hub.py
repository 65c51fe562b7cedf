"""Send models with their cards to a model hub, and download them.

The module uses the hub's own client (``pip install 'labeltrees[hub]'``) with its login, cache and
errors. A downloaded model is an ordinary model file, which `labeltrees.load` reads and checks. No
code of the hub is unpickled or run.
"""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labeltrees import estimators
from labeltrees.cards import About, ModelCard, evaluated
from labeltrees.cards import card as card_of_model
from labeltrees.cards._markdown import FILENAME
from labeltrees.errors import ArgumentError
from labeltrees.models.model import FittedModel
from labeltrees.transforms import takes_text

if TYPE_CHECKING:
    import os

    from sklearn.pipeline import Pipeline

    from labeltrees.estimators import LabelEstimator, TextClassifier

__all__ = ["download", "from_pretrained", "push"]

_ENDING = ".safetensors"


def push(
    model: Any,
    repo: str,
    *,
    card: ModelCard | None = None,
    filename: str = FILENAME,
    keep_state: bool = True,
    private: bool | None = None,
    revision: str | None = None,
    message: str | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> str:
    """Send a model and its card to a hub, in one commit, and return the commit's address.

    The repository is created if it does not exist. The card replaces its README.md.

    Parameters
    ----------
    model : fitted estimator, pipeline that ends in one, or FittedModel
        Any object that `labeltrees.save` takes or `labeltrees.load_model` returns.
    repo : str
        The name of the repository, "owner/name".
    card : ModelCard, optional
        For example ``model.card(X_test, y_test, license="mit")``. The default has no scores.
    filename : str, default "model.safetensors"
        The file's name in the repository.
    keep_state : bool, default True
        Whether the model can learn further. False makes a much smaller file.
    private : bool, optional
        Whether a new repository is private; by default as the owner has set.
    revision : str, optional
        The branch; by default the main branch.
    message : str, optional
        The commit message.
    token, endpoint : str, optional
        The login and the hub; by default as the client is configured (HF_TOKEN, HF_ENDPOINT).

    Returns
    -------
    str
        The address of the commit.

    Examples
    --------
    >>> import labeltrees
    >>> model = labeltrees.ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["a", "b"] * 20)
    >>> card = model.card([[1, 0]], ["a"], license="mit")
    >>> labeltrees.hub.push(model, "me/letters", card=card)  # doctest: +SKIP
    'https://.../me/letters/commit/...'
    """
    _check_filename(filename)
    client = _client()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / filename
        if isinstance(model, FittedModel):
            model.save(path, keep_state=keep_state)
        else:
            estimators.save(model, path, keep_state=keep_state)
        about = _default_card(model) if card is None else card
        written = [path, *about.of_file(path, hub=repo).save(folder)]
        api = client.HfApi(endpoint=endpoint, token=token, library_name="labeltrees")
        api.create_repo(repo, private=private, exist_ok=True)
        added = [client.CommitOperationAdd(file.name, file) for file in written]
        done = api.create_commit(
            repo,
            added,
            commit_message=message or f"Add {filename} and its card",
            revision=revision,
        )
    return str(done.commit_url)


def download(
    repo: str,
    *,
    revision: str | None = None,
    filename: str = FILENAME,
    cache_dir: str | os.PathLike[str] | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> Path:
    """Return the local path of a hub's model file, and download the file if needed.

    Parameters
    ----------
    repo : str
        The name of the repository, "owner/name".
    revision : str, optional
        A branch, a tag or a commit; the main branch by default. A commit is always the same file.
    filename : str, default "model.safetensors"
        The file's name in the repository.
    cache_dir : path, optional
        The folder for downloaded files; by default the client's own folder.
    token, endpoint : str, optional
        The login and the hub; by default as the client is configured (HF_TOKEN, HF_ENDPOINT).

    Returns
    -------
    Path
        Pass it to `labeltrees.load_model`, which needs no scikit-learn, or to the command line.

    Examples
    --------
    >>> import labeltrees
    >>> path = labeltrees.hub.download("me/letters")  # doctest: +SKIP
    >>> model = labeltrees.load_model(path)  # doctest: +SKIP
    """
    _check_filename(filename)
    found = _client().hf_hub_download(
        repo,
        filename,
        revision=revision,
        cache_dir=cache_dir,
        token=token,
        endpoint=endpoint,
        library_name="labeltrees",
    )
    return Path(found)


def from_pretrained(
    repo: str,
    *,
    revision: str | None = None,
    filename: str = FILENAME,
    mapped: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    token: str | None = None,
    endpoint: str | None = None,
) -> LabelEstimator | TextClassifier | Pipeline:
    """Return the fitted estimator in a hub's model file.

    Parameters
    ----------
    repo : str
        The name of the repository, "owner/name".
    revision : str, optional
        A branch, a tag or a commit; the main branch by default. A commit is always the same model.
    filename : str, default "model.safetensors"
        The file's name in the repository. Any other file raises `ModelFormatError`.
    mapped : bool, default False
        Whether tensors stay in the file until they are used, without a check of their checksums
        (see `labeltrees.load`).
    cache_dir : path, optional
        The folder for downloaded files; by default the client's own folder.
    token, endpoint : str, optional
        The login and the hub; by default as the client is configured (HF_TOKEN, HF_ENDPOINT).

    Returns
    -------
    an estimator
        The estimator, `TextClassifier` or pipeline that `labeltrees.load` returns.

    Examples
    --------
    >>> import labeltrees
    >>> model = labeltrees.hub.from_pretrained("me/letters")  # doctest: +SKIP
    >>> model.predict([[1, 0]]).tolist()  # doctest: +SKIP
    ['a']
    """
    path = download(
        repo,
        revision=revision,
        filename=filename,
        cache_dir=cache_dir,
        token=token,
        endpoint=endpoint,
    )
    return estimators.load(path, mapped=mapped)


def _client() -> Any:
    try:
        return import_module("huggingface_hub")
    except ImportError:
        raise ImportError(
            "a model hub needs huggingface_hub. Run pip install 'labeltrees[hub]' first."
        ) from None


def _check_filename(filename: str) -> None:
    """Raise `ArgumentError` unless ``filename`` names a safetensors file without folders."""
    if not isinstance(filename, str) or Path(filename).name != filename or "\\" in filename:
        raise ArgumentError.of("filename", filename, "a file's name without folders")
    if not filename.endswith(_ENDING) or filename == _ENDING:
        raise ArgumentError.of("filename", filename, f"a name that ends in {_ENDING}")


def _last(model: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _default_card(model: Any) -> ModelCard:
    """Return a card without scores; for a pipeline it records whether rows are texts."""
    if isinstance(model, FittedModel):
        return card_of_model(model)
    last = _last(model)
    if last is model:
        found: ModelCard = model.card()
        return found
    before = model[:-1]
    first = type(before.steps[0][1]).__name__ if takes_text(before) else None
    said = About(estimator=type(last).__name__, transform=first)
    return evaluated(last.model_, None, None, said)
