"""The fixed matrices of the log-mel front end as a few nodes that the runtime folds when it loads the graph.

    fixed_transforms.py IN.onnx OUT.onnx

The windowed DFT [400, 514] comes out of tables of 512 cosines and sines and of the window, in doubles and rounded once; the
mel bank, which meets real and imaginary parts, is kept once. Numbers are what they were, to the bit, but for 3,488 that stand
for zero: there 1e-13 was left of the angle's rounding, which no sum of fp32 samples could show. 0.9 MB less.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import augment as A

N = 512
BINS = N // 2 + 1


def tables():
    """Doubles: one turn of a cosine and of a sine, as the trained front end has them, and the window [400, 1]."""
    angle = 2 * np.pi * np.arange(N) / N
    return {"cosine": np.cos(angle), "sine": np.sin(angle), "window": np.asarray(A.hann(), np.float64)[:, None]}


def nodes(bank):
    """Nodes that make `mel.basis` and `mel.bank`, and their initializers."""
    constants = {**tables(), "samples": np.arange(A.WINDOW, dtype=np.int64), "bins": np.arange(BINS, dtype=np.int64),
                 "turn": np.array(N, np.int64), "across": np.array([0], np.int64), "down": np.array([1], np.int64),
                 "bank": bank}
    made = []

    def node(op, inputs, output, **attributes):
        made.append(helper.make_node(op, ["fixed." + i for i in inputs], [output], **attributes))

    node("Unsqueeze", ["bins", "across"], "fixed.columns")
    node("Unsqueeze", ["samples", "down"], "fixed.rows")
    node("Mul", ["rows", "columns"], "fixed.product")
    node("Mod", ["product", "turn"], "fixed.turns")
    node("Gather", ["cosine", "turns"], "fixed.real")
    node("Gather", ["sine", "turns"], "fixed.imaginary")
    node("Concat", ["real", "imaginary"], "fixed.both", axis=1)
    node("Mul", ["both", "window"], "fixed.exact")
    node("Cast", ["exact"], "mel.basis", to=TensorProto.FLOAT)
    node("Concat", ["bank", "bank"], "mel.bank", axis=0)
    return made, [numpy_helper.from_array(value, "fixed." + name) for name, value in constants.items()]


def expected_basis():
    t = tables()
    turns = np.arange(A.WINDOW)[:, None] * np.arange(BINS)[None] % N
    return (np.concatenate([t["cosine"][turns], t["sine"][turns]], 1) * t["window"]).astype(np.float32)


def compact(model):
    """Replaces the initializers `mel.basis` and `mel.bank`, in place."""
    graph = model.graph
    held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    bank = held["mel.bank"][:BINS]
    assert np.abs(held["mel.basis"] - expected_basis()).max() < 1e-12
    assert np.array_equal(held["mel.bank"], np.concatenate([bank, bank]))
    made, initializers = nodes(bank)
    kept = [t for t in graph.initializer if t.name not in ("mel.basis", "mel.bank")]
    del graph.initializer[:]
    graph.initializer.extend(kept + initializers)
    read = list(graph.node)
    del graph.node[:]
    graph.node.extend(made + read)


if __name__ == "__main__":
    loaded = onnx.load(sys.argv[1])
    compact(loaded)
    onnx.checker.check_model(loaded)
    onnx.save(loaded, sys.argv[2])
