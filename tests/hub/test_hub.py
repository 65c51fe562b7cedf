"""Models on a hub, by the hub's own client against a stand-in on this machine.

Sent and fetched -> revisions -> what is sent -> refusals. The real hub takes large files by a
protocol of its own (Xet), which the stand-in does not speak: here they go by Git LFS.
"""

from __future__ import annotations

import builtins
import sys

import pytest
from tests.hub import stand_in

import labeltrees
from labeltrees import ConditionalTreeClassifier, ExtremeRegressor, TextClassifier, hub
from labeltrees.errors import ArgumentError, ModelFormatError

client = pytest.importorskip("huggingface_hub")
constants = pytest.importorskip("huggingface_hub.constants")
errors = pytest.importorskip("huggingface_hub.errors")

WEATHER = [[1, 0], [0, 1]] * 20, ["sun", "rain"] * 20


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    with stand_in.running() as hub_server:
        yield hub_server


@pytest.fixture
def away(server, tmp_path):
    """What every call is given: this hub, and a cache of its own."""
    return {"endpoint": server.endpoint, "cache_dir": tmp_path / "cache"}


@pytest.fixture(scope="module")
def tree():
    return ConditionalTreeClassifier().fit(*WEATHER)


# Sent and fetched.


# The client's own: its way of sending files by LFS is old.
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
@pytest.mark.parametrize("endings", [(), (".safetensors",)], ids=["in the commit", "by LFS"])
def test_a_model_comes_back_as_it_was_sent(server, away, tree, endings):
    server.large_endings = endings
    card = tree.card([[1, 0]], ["sun"], license="mit")
    address = hub.push(tree, "me/weather", card=card, endpoint=server.endpoint, token="hf_x")
    (commit,) = server.repositories["me/weather"].commits
    assert address == f"{server.endpoint}/me/weather/commit/{commit}"
    assert any(method == "PUT" for method, _ in server.requests) == bool(endings)
    found = hub.from_pretrained("me/weather", **away)
    assert isinstance(found, ConditionalTreeClassifier)
    assert found.predict_proba([[1, 1]]).tolist() == tree.predict_proba([[1, 1]]).tolist()
    assert found.partial_fit([[1, 0]], ["sun"]) is found
    assert "Bearer hf_x" in server.tokens


def test_texts_regressors_pipelines_and_plain_models_are_sent(server, away, tree, tmp_path):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    texts = TextClassifier().fit(["sun", "rain"] * 20, ["dry", "wet"] * 20)
    pipeline = make_pipeline(StandardScaler(), ConditionalTreeClassifier()).fit(*WEATHER)
    regressor = ExtremeRegressor(n_trees=1).fit(WEATHER[0], [["a"], ["b"]] * 20)
    tree.save(tmp_path / "frozen", keep_state=False)
    frozen = labeltrees.load_model(tmp_path / "frozen")
    for name, model in {"t": texts, "p": pipeline, "r": regressor, "f": frozen}.items():
        hub.push(model, f"me/{name}", endpoint=server.endpoint)
    assert hub.from_pretrained("me/t", **away).predict(["rain"]).tolist() == ["wet"]
    again = hub.from_pretrained("me/p", **away)
    assert again.predict([[1, 0]]).tolist() == ["sun"]
    assert type(again).__name__ == "Pipeline"
    assert isinstance(hub.from_pretrained("me/r", **away), ExtremeRegressor)
    assert hub.from_pretrained("me/f", **away).model_.frozen
    assert "text-classification" in card_of(server, "me/t")


def card_of(server, name):
    return server.repositories[name].files("main")["README.md"].decode()


def test_a_downloaded_file_is_for_load_model_too(server, away, tree):
    hub.push(tree, "me/weather", endpoint=server.endpoint, keep_state=False)
    path = hub.download("me/weather", **away)
    model = labeltrees.load_model(path)
    assert model.frozen
    n_asked = len(server.requests)
    assert hub.download("me/weather", **away) == path
    assert [method for method, _ in server.requests[n_asked:]] == ["HEAD"]
    assert hub.from_pretrained("me/weather", mapped=True, **away).model_.frozen


# Revisions.


def test_each_commit_can_be_had_again(server, away, tree):
    addresses = [hub.push(tree, "me/weather", endpoint=server.endpoint)]
    other = ConditionalTreeClassifier().fit([[1, 0], [0, 1]] * 20, ["hail", "snow"] * 20)
    addresses.append(hub.push(other, "me/weather", endpoint=server.endpoint, message="Winter"))
    before, now = (address.rsplit("/", 1)[1] for address in addresses)
    named = [hub.from_pretrained("me/weather", revision=each, **away) for each in (before, now)]
    assert [each.classes_.tolist() for each in named] == [["rain", "sun"], ["hail", "snow"]]
    assert hub.from_pretrained("me/weather", **away).classes_.tolist() == ["hail", "snow"]
    said = server.repositories["me/weather"].messages
    assert said == ["Add model.safetensors and its card", "Winter"]


def test_branches_and_names_of_files_are_as_asked(server, away, tree):
    hub.push(tree, "me/weather", endpoint=server.endpoint)
    hub.push(tree, "me/weather", filename="b.safetensors", revision="try", endpoint=server.endpoint)
    repository = server.repositories["me/weather"]
    assert sorted(repository.files("main")) == ["README.md", "model.safetensors"]
    assert sorted(repository.files("try")) == ["README.md", "b.safetensors"]
    fetched = hub.from_pretrained("me/weather", revision="try", filename="b.safetensors", **away)
    assert fetched.classes_.tolist() == ["rain", "sun"]


# What is sent.


def test_a_card_says_where_the_model_is(server, tree):
    card = tree.card([[1, 0]], ["sun"], name="Weather")
    hub.push(tree, "me/weather", card=card, filename="w.safetensors", endpoint=server.endpoint)
    files = server.repositories["me/weather"].files("main")
    text = files["README.md"].decode()
    assert 'labeltrees.hub.from_pretrained("me/weather", filename="w.safetensors")' in text
    assert f"`w.safetensors`, {len(files['w.safetensors']):,} bytes" in text
    assert files["reliability.svg"].startswith(b"<svg")
    assert client.ModelCard(text).data.library_name == "labeltrees"
    assert card.facts["file"] is None  # it is not changed


def test_the_hub_s_client_reads_scores_and_tags_in_a_card(tree):
    card = tree.card([[1, 0]], ["sun"], license="mit", dataset="Made up", tags=["toy"])
    data = client.ModelCard(str(card)).data
    assert data.license == "mit"
    assert data.tags[-1] == "toy"
    found = {each.metric_type: each.metric_value for each in data.eval_results}
    assert found["accuracy"] == 1.0
    assert data.eval_results[0].dataset_name == "Made up"


def test_a_repository_is_private_if_asked(server, tree):
    hub.push(tree, "me/secret", private=True, endpoint=server.endpoint)
    hub.push(tree, "me/open", endpoint=server.endpoint)
    assert [server.repositories[f"me/{name}"].private for name in ("secret", "open")] == [
        True,
        False,
    ]


# Refusals.


@pytest.mark.parametrize("content", [b"\x80\x04K\x01.", b"", b"\x08" + b"\0" * 7 + b"{}      "])
def test_what_is_no_model_file_is_refused(server, away, content):
    repository = server.repositories.setdefault("me/bad", stand_in.Repository(False))
    repository.add("main", {"model.safetensors": content}, "bad")
    with pytest.raises(ModelFormatError):
        hub.from_pretrained("me/bad", **away)


def test_a_damaged_file_is_refused(server, away, tree):
    hub.push(tree, "me/weather", endpoint=server.endpoint)
    repository = server.repositories["me/weather"]
    whole = bytearray(repository.files("main")["model.safetensors"])
    whole[-1] ^= 1
    repository.add("main", {"model.safetensors": bytes(whole)}, "damage")
    with pytest.raises(ModelFormatError, match="is damaged"):
        hub.from_pretrained("me/weather", **away)


@pytest.mark.parametrize(
    "filename", ["model.pkl", "a/b.safetensors", "..", ".safetensors", "a\\b.safetensors", None]
)
def test_only_names_of_safetensors_files_are_taken(filename, tree):
    for call in (lambda: hub.from_pretrained("me/x", filename=filename),
                 lambda: hub.push(tree, "me/x", filename=filename)):  # fmt: skip
        with pytest.raises(ArgumentError, match="filename must be"):
            call()


def test_what_is_not_there_is_said_by_the_client(away):
    with pytest.raises(errors.RepositoryNotFoundError):
        hub.from_pretrained("me/nothing", **away)


def test_what_is_no_model_is_not_sent(server):
    with pytest.raises(ArgumentError, match="estimator must be"):
        hub.push(object(), "me/x", endpoint=server.endpoint)
    assert server.requests == []


def test_without_the_client_it_says_what_to_install(monkeypatch, tree):
    true_import = builtins.__import__

    def without(name, *rest):
        if name.startswith("huggingface_hub"):
            raise ImportError(name)
        return true_import(name, *rest)

    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'labeltrees\[hub\]'"):
        hub.from_pretrained("me/weather")
