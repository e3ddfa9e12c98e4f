"""Character n-grams in numpy: counting, interpolated smoothing, pruning, back-off.

An n-gram is one uint64: 7 bits a symbol, the newest symbol lowest. Symbol 0 (the recogniser's blank) is the sentence
boundary: it is the whole history of a first letter and is predicted after the last one.
"""
import numpy as np

BITS = 7
LOW = np.uint64((1 << BITS) - 1)


def mask(order):
    return np.uint64((1 << (BITS * order)) - 1)


def positions(symbols):
    """For every symbol, the number of symbols in its history, including its sentence's opening boundary."""
    boundary = np.flatnonzero(symbols == 0)
    last = np.zeros(len(symbols), np.int64)
    last[boundary[:-1] + 1] = np.diff(boundary)
    start = np.zeros(len(symbols), np.int64)
    start[boundary[:-1] + 1] = boundary[:-1]
    start = np.maximum.accumulate(start)
    return np.arange(len(symbols)) - start


def packed(symbols, order):
    """Yields for k = 1 .. order: (k, keys of the k-grams that end at each position with enough history, positions)."""
    depth = positions(symbols)
    keys = np.zeros(len(symbols), np.uint64)
    wide = symbols.astype(np.uint64)
    for k in range(1, order + 1):
        keys[k - 1:] |= wide[:len(wide) - k + 1] << np.uint64(BITS * (k - 1))
        at = np.flatnonzero(depth >= max(k - 1, 1))
        yield k, keys[at], at


def find(sorted_keys, wanted):
    """(index, present) of each wanted key."""
    index = np.minimum(np.searchsorted(sorted_keys, wanted), max(len(sorted_keys) - 1, 0))
    return index, (sorted_keys[index] == wanted if len(sorted_keys) else np.zeros(len(wanted), bool))


class Level:
    """All k-grams of one order: keys, counts, log-probs; and the contexts that they continue, with back-off
    weights."""

    def __init__(self, order, keys, raw):
        self.order, self.keys, self.raw, self.counts = order, keys, raw, raw
        self.logp = None
        self.contexts = self.bow = None

    def group(self):
        """Start index of each context's run of continuations, and the context of every k-gram."""
        context = self.keys >> np.uint64(BITS)
        starts = np.flatnonzero(np.concatenate(([True], context[1:] != context[:-1])))
        owner = np.cumsum(np.concatenate(([0], (context[1:] != context[:-1]).astype(np.int64))))
        return context[starts], starts, owner


def count(symbols, order, continuation):
    """Levels 1 .. order. With `continuation`, lower orders count distinct left neighbours (Kneser-Ney)."""
    levels = []
    for k, keys, _ in packed(symbols, order):
        levels.append(Level(k, *np.unique(keys, return_counts=True)))
    if continuation:
        for lower, upper in zip(levels, levels[1:]):
            suffix, neighbours = np.unique(upper.keys & mask(lower.order), return_counts=True)
            index, present = find(lower.keys, suffix)
            counts = lower.raw.copy()
            opens = (lower.keys >> np.uint64(BITS * (lower.order - 1))) == 0
            counts[index[present]] = np.where(opens[index[present]], lower.raw[index[present]], neighbours[present])
            lower.counts = counts
    return levels


def discounts(counts):
    """Modified Kneser-Ney discounts for counts 1, 2 and 3 or more (Chen and Goodman, 1998)."""
    n = [float(np.sum(counts == c)) for c in range(1, 5)]
    y = n[0] / (n[0] + 2 * n[1])
    d = [c + 1 - (c + 2) * y * n[c + 1] / max(n[c], 1) for c in range(3)]
    return np.array([0.0] + [min(max(x, 0.05), c + 0.95) for c, x in enumerate(d)])


def smooth(levels, vocabulary_size):
    """Interpolated modified Kneser-Ney log-probs for every level; the lowest mixes with a uniform distribution."""
    for level, lower in zip(levels, [None] + levels):
        d = discounts(level.counts) if level.order > 1 else np.array([0.0, 0.5, 0.5, 0.5])
        cut = d[np.minimum(level.counts, 3)]
        contexts, starts, owner = level.group()
        total = np.add.reduceat(level.counts.astype(float), starts)
        rest = np.add.reduceat(cut, starts) / total
        if lower is None:
            below = np.full(len(level.keys), 1.0 / vocabulary_size)
        else:
            index, present = find(lower.keys, level.keys & mask(lower.order))
            assert present.all()
            below = np.exp(lower.logp[index])
        level.logp = np.log((level.counts - cut) / total[owner] + rest[owner] * below)
        level.backed = np.log(rest[owner] * below)


def prune(levels, threshold):
    """
    Drops k-grams that change the log-likelihood of the training text by less than `threshold` nats (the weighted
    difference of Seymore and Rosenfeld, 1996); a k-gram that is the history of a kept one stays.
    """
    needed = np.zeros(0, np.uint64)
    for level in reversed(levels):
        keep = level.raw * (level.logp - level.backed) > threshold
        if level.order == 1:
            keep[:] = True
        index, present = find(level.keys, needed)
        assert present.all()
        keep[index] = True
        level.keys, level.raw, level.logp = level.keys[keep], level.raw[keep], level.logp[keep]
        del level.backed, level.counts
        needed = np.unique(level.keys >> np.uint64(BITS))


def fill_unigrams(level, vocabulary_size):
    """Adds symbols that were never seen to the lowest level, so that back-off always ends."""
    logp = np.full(vocabulary_size, np.log(1e-7))
    logp[level.keys.astype(np.int64)] = level.logp
    level.keys = np.arange(vocabulary_size, dtype=np.uint64)
    level.logp = logp - np.log(np.sum(np.exp(logp)))


def set_backoff(levels):
    """Weights with which every context's probabilities sum to one over kept and backed-off symbols."""
    levels[0].contexts, levels[0].bow = np.zeros(1, np.uint64), np.zeros(1)
    for depth in range(1, len(levels)):
        level = levels[depth]
        level.contexts, starts, owner = level.group()
        below = log_prob(levels[:depth], level.keys & mask(depth))
        kept = np.add.reduceat(np.exp(level.logp), starts)
        backed = np.add.reduceat(np.exp(below), starts)
        level.bow = np.log(np.maximum(1 - kept, 1e-6)) - np.log(np.maximum(1 - backed, 1e-6))


def log_prob(levels, keys):
    """Log-prob of the last symbol of each key (an n-gram of the highest given order), backing off where
    necessary."""
    level = levels[-1]
    if level.order == 1:
        return level.logp[(keys & LOW).astype(np.int64)]
    index, present = find(level.keys, keys)
    out = np.empty(len(keys))
    out[present] = level.logp[index[present]]
    absent = keys[~present]
    at, known = find(level.contexts, absent >> np.uint64(BITS))
    out[~present] = np.where(known, level.bow[at], 0.0) + log_prob(levels[:-1], absent & mask(level.order - 1))
    return out


def perplexity(levels, symbols):
    """(nats a character, characters), boundaries predicted and counted."""
    total, characters = 0.0, 0
    order = len(levels)
    for k, keys, at in packed(symbols, order):
        depth = positions(symbols)[at]
        use = np.ones(len(at), bool) if k == order else depth == k - 1
        if k > 1:
            total -= np.sum(log_prob(levels[:k], keys[use]))
            characters += int(use.sum())
    return total / characters, characters
