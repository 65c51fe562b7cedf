"""Several threads: the same model for any number of them, about as good as one thread's."""

import numpy as np
from tests.conditional.test_max_memory import LIMIT, wide_rows

from labeltrees import ConditionalTreeClassifier, checks


def test_any_number_of_threads_above_one_gives_the_same_model():
    X, y = wide_rows()
    models = [ConditionalTreeClassifier(n_jobs=n).partial_fit(X, y) for n in (2, 3, -1)]
    expected = models[0].predict_proba(X[:200])
    assert np.array_equal(models[1].predict_proba(X[:200]), expected)
    if checks.threads("n_jobs", -1) > 1:
        assert np.array_equal(models[2].predict_proba(X[:200]), expected)


def test_batches_are_about_as_good_as_rows_in_turn():
    X, y = wide_rows(12_000)
    seen = {n: ConditionalTreeClassifier(n_jobs=n).progressive_fit(X, y) for n in (1, 2)}
    losses = {n: -np.log(s.p_label[~s.is_new][2000:]).mean() for n, s in seen.items()}
    assert losses[2] < losses[1] + 0.01
    right = {n: (s.top[:, 0] == y)[2000:].mean() for n, s in seen.items()}
    assert right[2] > right[1] - 0.02


def test_threads_answer_as_one_does():
    X, y = wide_rows()
    model = ConditionalTreeClassifier(n_jobs=2).partial_fit(X, y)
    answers = []
    for n_jobs in (1, 2):
        model.set_params(n_jobs=n_jobs)
        assert model.model_.settings.n_threads == n_jobs
        answers.append((model.predict_top_k(X, 3), model.predict_label_proba(X, y)))
    (tops, p), (tops_2, p_2) = answers
    assert np.array_equal(tops.labels, tops_2.labels)
    assert np.array_equal(p, p_2)


def test_threads_and_a_limit_go_together():
    X, y = wide_rows()
    model = ConditionalTreeClassifier(n_jobs=2, max_memory=LIMIT).partial_fit(X, y)
    assert model.model_.core.n_bytes <= LIMIT
    other = ConditionalTreeClassifier(n_jobs=4, max_memory=LIMIT).partial_fit(X, y)
    assert np.array_equal(model.predict_label_proba(X, y), other.predict_label_proba(X, y))


def test_rows_of_weight_zero_are_passed_over():
    X, y = wide_rows(1000)
    weights = np.ones(1000)
    weights[::3] = 0
    model = ConditionalTreeClassifier(n_jobs=2).partial_fit(X, y, sample_weight=weights)
    kept = weights > 0
    twin = ConditionalTreeClassifier(n_jobs=2)
    twin.partial_fit(X[kept], y[kept])
    assert set(model.classes_) == set(twin.classes_)
    assert model.score(X[kept], y[kept]) > 0.9
