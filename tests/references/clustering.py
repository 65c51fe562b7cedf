"""Label trees from data in plain Python: balanced spherical k-means."""

from __future__ import annotations

import math

import numpy as np


def combine_hashes(first, second):
    """The library's hash of a pair of 64-bit integers."""
    mask = 2**64 - 1
    x = (first * 0x9E3779B97F4A7C15 + second) & mask
    for _ in range(2):
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & mask
    return x ^ (x >> 32)


def label_centroids(X, labels, weights, n_labels):
    """Row l: the mean direction of label l's rows, as float32; zeros if it has none."""
    sums = np.zeros((n_labels, X.shape[1]))
    for x, label, weight in zip(np.asarray(X, dtype=np.float64), labels, weights, strict=True):
        length = math.sqrt(sum(v * v for v in x))
        if weight > 0 and length > 0:
            sums[label] += x * weight / length
    lengths = [math.sqrt(sum(v * v for v in row)) or 1.0 for row in sums]
    return (sums / np.array(lengths)[:, None]).astype(np.float32)


def bisect(centroids, labels, left, parts, seed, mass=None):
    """Spherical 2-means with sides of given shares: two lists of labels."""
    n = len(labels)
    first = combine_hashes(seed, 0) % n
    second = (first + 1 + combine_hashes(seed, 1) % (n - 1)) % n
    difference = centroids[labels[first]] - centroids[labels[second]]
    cosine = -1.0
    for _ in range(50):
        scores = {}
        for label in labels:
            scores[label] = 0.0
            for value, d in zip(centroids[label], difference, strict=True):
                scores[label] += float(value) * float(d)
        ranked = sorted(labels, key=lambda label: (-scores[label], label))
        n_left = n * left // parts
        if mass is not None and sum(mass[label] for label in ranked) > 0:
            wanted = sum(mass[label] for label in ranked) * left / parts
            n_left = left
            while n_left < n - (parts - left):
                below = sum(mass[label] for label in ranked[:n_left])
                if below + mass[ranked[n_left]] / 2 > wanted:
                    break
                n_left += 1
        sides = sorted(ranked[:n_left]), sorted(ranked[n_left:])
        sums = []
        for side in sides:
            total = np.zeros(centroids.shape[1])
            for label in side:
                total += centroids[label].astype(np.float64)
            sums.append(total)
        lengths = [math.sqrt(sum(v * v for v in total)) for total in sums]
        centres = [total / (length or 1.0) for total, length in zip(sums, lengths, strict=True)]
        difference = (centres[0] - centres[1]).astype(np.float32)
        before, cosine = cosine, sum(lengths) / n
        if cosine - before < 1e-4:
            break
    return sides


def cut(centroids, labels, parts, seed, salt, mass=None):
    """The parts of a node, made by bisecting again and again."""
    if parts == 1:
        return [labels]
    left = parts // 2
    if len(labels) == parts:
        sides = labels[:left], labels[left:]
    else:
        sides = bisect(centroids, labels, left, parts, combine_hashes(seed, salt), mass)
    return cut(centroids, sides[0], left, seed, combine_hashes(salt, 1), mass) + cut(
        centroids, sides[1], parts - left, seed, combine_hashes(salt, 2), mass
    )


def kmeans_tree(centroids, arity, seed, mass=None):
    """The parent and label of each node, breadth first."""
    parent, label, members = [-1], [], [list(range(len(centroids)))]
    for node, labels in enumerate(members):
        label.append(labels[0] if len(labels) == 1 else -1)
        if len(labels) > 1:
            for part in cut(centroids, labels, min(arity, len(labels)), seed, node, mass):
                parent.append(node)
                members.append(part)
    return parent, label
