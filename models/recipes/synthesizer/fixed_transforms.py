"""The vocoder's fixed transforms [513, 513] as a few nodes that the runtime folds when it loads the graph.

    fixed_transforms.py IN.onnx OUT.onnx

Cosines and sines of the DFT come out of a table of 1024 fp32 values, to the bit what the matrices held. The matrix of the
minimum phase is a sum of two cotangents, in doubles and rounded once: 458 of its 131,584 entries differ by one step of
fp32, 5e-15 at most, and what the FFT had left in the entries that are zero (1e-16) is gone. 3.2 MB of constants less.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

N = 1024
BINS = N // 2 + 1


def tables():
    angle = 2.0 * np.pi * np.arange(N) / N
    cotangent = np.zeros(N)
    cotangent[1::2] = -2.0 / N / np.tan(angle[1::2] / 2.0)
    edge = np.ones((BINS, 1))
    edge[0] = edge[-1] = 0.5
    return {"cosine": np.cos(angle).astype(np.float32), "sine": np.sin(angle).astype(np.float32),
            "cotangent": cotangent, "edge": edge}


def matrices():
    """What the nodes below fold to."""
    t, k = tables(), np.arange(BINS)
    turns = k[:, None] * k[None] % N
    phase = (t["cotangent"][(k[None] - k[:, None]) % N] + t["cotangent"][(k[None] + k[:, None]) % N]) * t["edge"]
    return {"cosine": t["cosine"][turns], "sine": t["sine"][turns], "phase": phase.astype(np.float32)}


def nodes():
    """Nodes that make `fixed.cosine`, `fixed.sine` and `fixed.phase`, and their initializers."""
    constants = {**tables(), "bins": np.arange(BINS, dtype=np.int64), "turn": np.array(N, np.int64),
                 "across": np.array([0], np.int64), "down": np.array([1], np.int64)}
    made = []

    def node(op, inputs, output, **attributes):
        made.append(helper.make_node(op, ["fixed." + i for i in inputs], ["fixed." + output], **attributes))

    node("Unsqueeze", ["bins", "across"], "columns")
    node("Unsqueeze", ["bins", "down"], "rows")
    node("Mul", ["rows", "columns"], "product")
    node("Mod", ["product", "turn"], "turns")
    node("Gather", ["cosine", "turns"], "cosine.matrix")
    node("Gather", ["sine", "turns"], "sine.matrix")
    node("Sub", ["columns", "rows"], "difference")
    node("Mod", ["difference", "turn"], "difference.turns")
    node("Add", ["columns", "rows"], "sum")
    node("Gather", ["cotangent", "difference.turns"], "before")
    node("Mod", ["sum", "turn"], "sum.turns")
    node("Gather", ["cotangent", "sum.turns"], "after")
    node("Add", ["before", "after"], "cotangents")
    node("Mul", ["cotangents", "edge"], "phase.exact")
    node("Cast", ["phase.exact"], "phase.matrix", to=TensorProto.FLOAT)
    return made, [numpy_helper.from_array(value, "fixed." + name) for name, value in constants.items()]


def compact(model):
    """Replaces the constants [513, 513] of a graph, in place; returns how many."""
    graph, renamed, dropped = model.graph, {}, set()
    expected = matrices()
    for node in graph.node:
        if node.op_type != "Constant" or node.attribute[0].name != "value":
            continue
        value = numpy_helper.to_array(node.attribute[0].t)
        if value.shape != (BINS, BINS):
            continue
        name = min(expected, key=lambda n: np.abs(expected[n] - value).max())
        assert np.abs(expected[name] - value).max() < 1e-14, node.output[0]
        renamed[node.output[0]] = "fixed.%s.matrix" % name
        dropped.add(node.output[0])
    kept = [node for node in graph.node if not dropped & set(node.output)]
    for node in kept:
        for i, name in enumerate(node.input):
            node.input[i] = renamed.get(name, name)
    made, initializers = nodes() if renamed else ([], [])
    del graph.node[:]
    graph.node.extend(made + kept)
    graph.initializer.extend(initializers)
    return len(renamed)


if __name__ == "__main__":
    loaded = onnx.load(sys.argv[1])
    print(compact(loaded), "fixed transforms are made when the graph is loaded")
    onnx.checker.check_model(loaded)
    onnx.save(loaded, sys.argv[2])
