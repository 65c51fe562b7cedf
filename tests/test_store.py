"""Model files: save -> load is the identity, learning goes on exactly, damage is always noticed."""

from __future__ import annotations

import hashlib
import json
import os
import stat

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import labeltrees
from labeltrees import ConditionalTreeClassifier, MultiLabelTreeClassifier, store
from labeltrees.errors import FrozenModelError, LabelTreesError, ModelFormatError


def stream(seed, n_rows=1500, n_features=60, n_labels=80):
    rng = np.random.default_rng(seed)
    y = rng.zipf(1.4, size=n_rows) % n_labels
    X = (rng.random((n_rows, n_features)) < 0.1).astype(np.float32)
    X[np.arange(n_rows), y % n_features] = 1
    return X, np.array([f"étiquette {label}" for label in y], dtype=object)


@pytest.fixture
def trained(tmp_path):
    X, y = stream(0)
    model = ConditionalTreeClassifier(random_state=3, refine=0).partial_fit(X[:800], y[:800])
    path = tmp_path / "model.safetensors"
    model.save(path)
    return model, path, X, y


@pytest.mark.parametrize("structure", ["online", "random", "balanced"])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_learning_half_saving_loading_and_learning_the_rest_is_learning_all(
    tmp_path, structure, optimizer
):
    X, y = stream(1)
    options = {"structure": structure, "optimizer": optimizer, "learning_rate": 0.3}
    whole = ConditionalTreeClassifier(**options).partial_fit(X, y)
    half = ConditionalTreeClassifier(**options).partial_fit(X[:700], y[:700])
    half.save(tmp_path / "half.safetensors")
    resumed = labeltrees.load(tmp_path / "half.safetensors").partial_fit(X[700:], y[700:])
    whole.save(tmp_path / "whole.safetensors")
    resumed.save(tmp_path / "resumed.safetensors")
    read = (tmp_path / "whole.safetensors").read_bytes()
    assert read == (tmp_path / "resumed.safetensors").read_bytes()  # every bit of the state
    assert np.array_equal(whole.predict_proba(X), resumed.predict_proba(X))


def test_integer_labels_and_parameters_come_back(tmp_path):
    X, _ = stream(2)
    y = np.arange(len(X)) % 7 - 3
    model = ConditionalTreeClassifier(alpha=0.25, bias=1.0).fit(X, y)
    model.save(tmp_path / "m")
    again = labeltrees.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.classes_, model.classes_)
    assert again.classes_.dtype == np.int64
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_inference_only_file_is_small_close_and_frozen(trained, tmp_path):
    model, path, X, y = trained
    small = tmp_path / "small.safetensors"
    model.save(small, keep_state=False)
    frozen = labeltrees.load(small)
    assert small.stat().st_size < path.stat().st_size / 2
    assert np.abs(frozen.predict_proba(X) - model.predict_proba(X)).max() < 2e-3
    with pytest.raises(FrozenModelError, match="keep_state=False"):
        frozen.partial_fit(X, y)
    frozen.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == small.read_bytes()


def test_saving_is_atomic_and_leaves_no_litter(trained, tmp_path, monkeypatch):
    model, path, X, y = trained
    before = path.read_bytes()

    def disk_full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", disk_full)
    model.partial_fit(X[800:], y[800:])
    with pytest.raises(OSError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mapped", [False, True])
def test_an_array_comes_back_however_it_lies_in_memory(tmp_path, mapped):
    """SciPy and NumPy choose the order of axes by their version."""
    plain = np.arange(24, dtype=np.float32).reshape(4, 6)
    tensors = {
        "plain": plain,
        "turned": np.asfortranarray(plain),
        "transposed": plain.T,
        "strided": plain[::2, 1::2],
        "backwards": plain[0, ::-1],
        "single": np.float64(3.0).reshape(()),
    }
    store.write(tmp_path / "model", store.StoredModel("Some", {}, tensors))
    found = store.read(tmp_path / "model", mapped=mapped).tensors
    for name, array in tensors.items():
        np.testing.assert_array_equal(found[name], array, strict=True, err_msg=name)


def test_the_file_has_ordinary_permissions(trained):
    _, path, _, _ = trained
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_other_tools_can_read_the_tensors(trained):
    model, path, _, _ = trained
    assert np.array_equal(load_file(path)["tree.parent"], model.tree_.parent)


def same_model(a, b, X):
    return np.array_equal(a.predict_proba(X), b.predict_proba(X)) and np.array_equal(
        a.classes_, b.classes_
    )


def corruptions(data, n, seed):
    """n damaged versions: flipped bits, cuts, inserted and repeated bytes, in header and body."""
    rng = np.random.default_rng(seed)
    header = 8 + int.from_bytes(data[:8], "little")
    for i in range(n):
        damaged = bytearray(data)
        limit = header if i % 2 else len(data)
        where = int(rng.integers(limit))
        match i % 5:
            case 0 | 1:
                for at in rng.integers(limit, size=1 + i % 4):
                    damaged[at] ^= 1 << int(rng.integers(8))
            case 2:
                del damaged[where:]
            case 3:
                damaged[where:where] = rng.bytes(1 + i % 9)
            case 4:
                size = min(16, len(data) - where)
                damaged[where : where + size] = rng.bytes(size)
        yield bytes(damaged)


@pytest.mark.parametrize("keep_state", [True, False])
@pytest.mark.parametrize("kind", [ConditionalTreeClassifier, MultiLabelTreeClassifier])
def test_500_random_corruptions_are_noticed_or_harmless(tmp_path, kind, keep_state):
    X, y = stream(3, n_rows=60, n_features=8, n_labels=12)
    if kind is MultiLabelTreeClassifier:
        y = [{own, other} for own, other in zip(y, np.roll(y, 1), strict=True)]
    model = kind().partial_fit(X, y)
    path = tmp_path / "m"
    model.save(path, keep_state=keep_state)
    data = path.read_bytes()
    sound = labeltrees.load(path)
    noticed = 0
    for damaged in corruptions(data, 500, seed=4):
        if damaged == data:
            continue
        path.write_bytes(damaged)
        try:
            loaded = labeltrees.load(path)
        except ModelFormatError:
            noticed += 1
        else:
            assert same_model(loaded, sound, X)
    assert noticed > 450


def rewrite(path, **changes):
    """A file whose checksums are right and whose content is not."""
    stored = store.read(path)
    tensors = stored.tensors | changes.pop("tensors", {})
    facts = stored.facts | changes.pop("facts", {})
    fields = {"model": stored.model, "extra": {}, **changes}
    store.write(path, store.StoredModel(facts=facts, tensors=tensors, **fields))


FORGERIES = {
    "a node that is its own ancestor": {"tensors": {"tree.parent": np.array([0], "i4")}},
    "a parent that is not there": {"tensors": {"tree.parent": np.array([-1, 9, 9], "i4")}},
    "floats for parents": {"tensors": {"tree.parent": np.zeros(3)}},
    "a label nobody named": {
        "tensors": {"tree.parent": np.array([-1], "i4"), "tree.label": np.array([10**6], "i4")}
    },
    "keys out of order": {"tensors": {"table.keys": np.zeros(1, "u8")}},
    "sums missing": {"tensors": {"table.sums": np.zeros((1, 7), "u2")}},
    "mixtures missing": {"tensors": {"mixtures": np.zeros((1, 18), "f4")}},
    "infinite mass": {"tensors": {"tree.mass": np.full(3, np.inf)}},
    "NaN weights": {"tensors": {"table.weights": np.full((1, 7), np.nan, "f4")}},
    "another class": {"model": "Forest"},
    "no class": {"model": 3},
    "settings of another model": {"facts": {"settings": {"loss": "hinge"}}},
    "no settings": {"facts": {"settings": None}},
    "text that is not UTF-8": {
        "tensors": {
            "vocabulary.text": np.full(4, 255, "u1"),
            "vocabulary.ends": np.array([1, 2, 3, 4], "i8"),
        }
    },
    "ends past the text": {"tensors": {"vocabulary.ends": np.array([10**9], "i8")}},
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_with_right_checksums_is_refused(trained, forgery):
    _, path, _, _ = trained
    rewrite(path, **FORGERIES[forgery])
    with pytest.raises(ModelFormatError):
        labeltrees.load(path)


FOREIGN = {
    "empty": b"",
    "text": b"not a model\n" * 100,
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00",
    "huge header": (2**62).to_bytes(8, "little") + b"{}",
    "zeros": bytes(4096),
}


@pytest.mark.parametrize("content", FOREIGN)
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[content])
    with pytest.raises(ModelFormatError, match="foreign is not a model file"):
        labeltrees.load(path)


def test_another_projects_safetensors_file_is_refused(tmp_path):
    save_file({"layer": np.ones(3)}, tmp_path / "other")
    with pytest.raises(ModelFormatError, match="but not a labeltrees model"):
        labeltrees.load(tmp_path / "other")


DEEP = "[" * 100_000 + "]" * 100_000
DESCRIPTIONS = {
    "a list": "[]",
    "a number": "3",
    "no JSON": "{",
    "lists without end": DEEP,
    "facts without end": f'{{"format_version": 2, "facts": {DEEP}}}',
    "a number without end": '{"format_version": ' + "9" * 10_000 + "}",
    "a value twice": '{"format_version": 2, "format_version": 2}',
}
FIELDS = {
    "model": [None, 3, []],
    "facts": [None, 3, []],
    "extra": [None, 3, [1]],
    "library_version": [None, 3],
    "tensors": [None, 3, [], {}, {"mixtures": [1]}],
}


def describe(path, text):
    """Give a file another description."""
    save_file(load_file(path), path, metadata={"labeltrees": text})


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_description_that_is_none_is_refused(trained, text, mapped):
    _, path, _, _ = trained
    describe(path, DESCRIPTIONS[text])
    with pytest.raises(ModelFormatError):
        labeltrees.load(path, mapped=mapped)


@pytest.mark.parametrize("field", FIELDS)
def test_a_description_whose_fields_are_of_other_types_is_refused(trained, field):
    _, path, _, _ = trained
    with safe_open(path, framework="numpy") as file:
        sound = json.loads(file.metadata()["labeltrees"])
    del sound["checksum"]
    for value in [*FIELDS[field], "missing"]:
        forged = sound | {field: value}
        if value == "missing":
            del forged[field]
        checksum = hashlib.sha256(json.dumps(forged, sort_keys=True).encode()).hexdigest()
        describe(path, json.dumps(forged | {"checksum": checksum}))
        for mapped in (False, True):
            with pytest.raises(ModelFormatError):
                labeltrees.load_model(path, mapped=mapped)


CONTAINERS = {
    "shape past all memory": {"dtype": "F32", "shape": [0, 2**62]},
    "a hundred dimensions": {"dtype": "F32", "shape": [0] * 100},
    "a type that NumPy lacks": {"dtype": "F8_E4M3", "shape": [0]},
    "a type that nobody knows": {"dtype": "Q9", "shape": [0]},
    "a shape below zero": {"dtype": "F32", "shape": [-1]},
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_container_with_an_absurd_tensor_is_refused(trained, container, mapped):
    _, path, _, _ = trained
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start]) | {
        "strange": CONTAINERS[container] | {"data_offsets": [len(data) - start] * 2}
    }
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[start:])
    with pytest.raises(ModelFormatError):
        labeltrees.load(path, mapped=mapped)


def test_a_mapped_file_may_have_its_numbers_anywhere(trained):
    model, path, X, _ = trained
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    for more in range(1, 4):
        text = data[8:start] + b" " * more
        path.write_bytes(len(text).to_bytes(8, "little") + text + data[start:])
        moved = labeltrees.load(path, mapped=True)
        assert np.array_equal(moved.predict_proba(X), model.predict_proba(X))


def test_a_file_from_the_future_says_so(trained):
    _, path, _, _ = trained
    tensors = load_file(path)
    save_file(tensors, path, metadata={"labeltrees": '{"format_version": 99}'})
    with pytest.raises(ModelFormatError, match="version 99, but this library reads version 2"):
        labeltrees.load(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        labeltrees.load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        labeltrees.load(tmp_path)


def test_extra_facts_travel_with_the_model(trained):
    model, path, _, _ = trained
    model.save(path, extra={"format": "tsv"})
    assert store.read(path).extra == {"format": "tsv"}
    assert json.dumps(store.read(path).facts["settings"])


def test_model_format_errors_are_the_librarys():
    assert issubclass(ModelFormatError, LabelTreesError)
