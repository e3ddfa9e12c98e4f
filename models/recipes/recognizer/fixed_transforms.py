"""The fixed matrices of the log-mel front end as a few nodes that the runtime folds when it loads the graph.

    fixed_transforms.py IN.onnx OUT.onnx

Replaces the products with the windowed DFT [400, 514] and with the mel bank [514, 80], at half of the cost.
The periodic window is symmetric about sample 200, and a power spectrum does not depend on where its phase
starts. So with the phase at sample 200, real parts need only the sums of samples at equal distance from
there, and imaginary parts only their differences: two products [200, 243] instead of one [400, 514]. Bins
without a mel filter are omitted. The result differs from the direct product in the last bits of fp32.

The matrices are computed from tables of 512 cosines and sines and of the window, in doubles and rounded once:
0.9 MB less.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

N, WINDOW = 512, 400
HALF = WINDOW // 2
FRAMES, POWER = "/mel/Concat_2_output_0", "/mel/MatMul_1_output_0"
END = np.iinfo(np.int64).max


def half_window():
    """Periodic Hann from its centre on [200, 1]. The centre is halved, because the sum there counts it twice."""
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)[HALF:].astype(np.float64)
    window[0] /= 2
    return window[:, None]


def tables(bins):
    """Doubles: one period of a cosine and of a sine, the window, and integers that position them."""
    angle = 2 * np.pi * np.arange(N) / N
    return {"cosine": np.cos(angle), "sine": np.sin(angle), "window": half_window(), "bins": bins.astype(np.int64),
            "samples": np.arange(HALF, dtype=np.int64), "turn": np.array(N, np.int64), "across": np.array([0], np.int64),
            "down": np.array([1], np.int64), "axis": np.array([2], np.int64), "before": np.array([HALF], np.int64),
            "after": np.array([END], np.int64), "forward": np.array([1], np.int64),
            "backward": np.arange(HALF, 0, -1, dtype=np.int64)}


def nodes(bank):
    """Nodes from FRAMES [B, T, 400] to POWER [B, T, 80], and their initializers. @param bank mel filters [257, 80]"""
    bins = np.flatnonzero(bank.any(1))
    constants = {**tables(bins), "bank": bank[bins]}
    made = []

    def node(op, inputs, output, **attributes):
        made.append(helper.make_node(op, ["fixed." + i if i in constants else i for i in inputs], [output], **attributes))
        return output

    node("Unsqueeze", ["bins", "across"], "fixed.columns")
    node("Unsqueeze", ["samples", "down"], "fixed.rows")
    node("Mul", ["fixed.rows", "fixed.columns"], "fixed.product")
    node("Mod", ["fixed.product", "turn"], "fixed.turns")
    right = node("Slice", [FRAMES, "before", "after", "axis", "forward"], "fixed.right")
    # WebGPU's Slice gives wrong values for negative steps.
    left = node("Gather", [FRAMES, "backward"], "fixed.left", axis=2)
    squares = []
    for table, op, name in (("cosine", "Add", "real"), ("sine", "Sub", "imaginary")):
        turned = node("Gather", [table, "fixed.turns"], "fixed.%s.turned" % name)
        windowed = node("Mul", [turned, "window"], "fixed.%s.windowed" % name)
        basis = node("Cast", [windowed], "fixed.%s.basis" % name, to=TensorProto.FLOAT)
        halves = node(op, [right, left], "fixed.%s.halves" % name)
        part = node("MatMul", [halves, basis], "fixed.%s" % name)
        squares.append(node("Mul", [part, part], "fixed.%s.square" % name))
    node("MatMul", [node("Add", squares, "fixed.power"), "bank"], POWER)
    return made, [numpy_helper.from_array(value, "fixed." + name) for name, value in constants.items()]


def held_bank(graph):
    """The mel filters [257, 80] of a graph as torch exports it, or as this file has written it before."""
    held = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    if "mel.bank" in held:
        return held["mel.bank"][: N // 2 + 1]
    bank = np.zeros((N // 2 + 1, held["fixed.bank"].shape[1]), np.float32)
    bank[held["fixed.bins"]] = held["fixed.bank"]
    return bank


def compact(model):
    """Replaces all nodes between FRAMES and POWER, in place."""
    graph = model.graph
    made, initializers = nodes(held_bank(graph))
    replaced = ("mel.basis", "mel.bank", "/mel/MatMul_output_0", "/mel/Mul_output_0", POWER)
    is_old = lambda name: name.startswith("fixed.") or name in replaced
    kept = [t for t in graph.initializer if not is_old(t.name)]
    read = [n for n in graph.node if not is_old(n.output[0])]
    place = next(i for i, n in enumerate(read) if FRAMES in n.output) + 1
    del graph.initializer[:]
    graph.initializer.extend(kept + initializers)
    del graph.node[:]
    graph.node.extend(read[:place] + made + read[place:])


if __name__ == "__main__":
    loaded = onnx.load(sys.argv[1])
    compact(loaded)
    onnx.checker.check_model(loaded)
    onnx.save(loaded, sys.argv[2])
