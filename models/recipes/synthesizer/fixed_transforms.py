"""The vocoder's fixed matrices as a few nodes that the runtime folds when it loads the graph.

Cosines and sines of the DFT are computed from a table of 1024 fp32 values; the matrix of the minimum phase is
a sum of two cotangents, in doubles and rounded once. This saves 2.1 MB of constants."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

N = 1024
EVEN, ODD = np.arange(0, N // 2 + 1, 2), np.arange(1, N // 2, 2)  # bins
SAMPLES = np.arange(N // 4 + 1)


def tables():
    angle = 2.0 * np.pi * np.arange(N) / N
    cotangent = np.zeros(N)
    cotangent[1::2] = -2.0 / N / np.tan(angle[1::2] / 2.0)
    edge = np.ones((len(SAMPLES), 1), np.float32)
    edge[0] = edge[-1] = 0.5  # samples and bins without a mirror image
    return {"cosine": np.cos(angle).astype(np.float32), "sine": np.sin(angle).astype(np.float32),
            "cotangent": cotangent, "edge": edge}


def matrices():
    """Values to which the nodes below fold, f32: from samples 0..256 to even or odd bins; back from the odd
    ones (the matrix for the even ones is the same); log magnitudes of the odd bins to phases of the even
    ones, and the reverse."""
    t, found = tables(), {}
    for name in ("cosine", "sine"):
        found[name + "_even"] = t[name][SAMPLES[:, None] * EVEN[None] % N] * t["edge"]
        odd = t[name][SAMPLES[:, None] * ODD[None] % N]
        found[name + "_odd"], found[name + "_odd_back"] = odd * t["edge"], odd.T.copy()
    for name, rows, columns, edge in (("phase_even", ODD, EVEN, 1.0), ("phase_odd", EVEN, ODD, t["edge"])):
        phase = t["cotangent"][(columns[None] - rows[:, None]) % N] + t["cotangent"][(columns[None] + rows[:, None]) % N]
        found[name] = (phase * edge).astype(np.float32)
    return found


def nodes():
    """Nodes that compute the matrices, each named after its part following "fixed.", and their initializers.
    """
    constants = {**tables(), "samples": SAMPLES[:, None], "even": EVEN[None], "odd": ODD[None], "even.down": EVEN[:, None],
                 "odd.down": ODD[:, None], "turn": np.array(N, np.int64)}
    constants["edge.exact"] = constants["edge"].astype(np.float64)
    made = []

    def node(op, inputs, output, **attributes):
        made.append(helper.make_node(op, ["fixed." + i for i in inputs], ["fixed." + output], **attributes))

    def looked_up(table, op, inputs, output):
        node(op, inputs, output + ".whole")
        node("Mod", [output + ".whole", "turn"], output + ".turns")
        node("Gather", [table, output + ".turns"], output)

    for name in ("cosine", "sine"):
        looked_up(name, "Mul", ["samples", "even"], name + "_even.plain")
        node("Mul", [name + "_even.plain", "edge"], name + "_even")
        looked_up(name, "Mul", ["samples", "odd"], name + "_odd.plain")
        node("Mul", [name + "_odd.plain", "edge"], name + "_odd")
        node("Transpose", [name + "_odd.plain"], name + "_odd_back", perm=[1, 0])
    for name, rows, columns in (("phase_even", "odd.down", "even"), ("phase_odd", "even.down", "odd")):
        looked_up("cotangent", "Sub", [columns, rows], name + ".before")
        looked_up("cotangent", "Add", [columns, rows], name + ".after")
        node("Add", [name + ".before", name + ".after"], name + ".exact")
        if name == "phase_odd":
            node("Mul", [name + ".exact", "edge.exact"], name + ".edged")
        node("Cast", [name + (".edged" if name == "phase_odd" else ".exact")], name, to=TensorProto.FLOAT)
    return made, [numpy_helper.from_array(value, "fixed." + name) for name, value in constants.items()]


def compact(model):
    """Replaces the fixed matrices of a graph, in place; returns their number."""
    graph, renamed, dropped = model.graph, {}, set()
    expected = matrices()
    for node in graph.node:
        if node.op_type != "Constant" or node.attribute[0].name != "value":
            continue
        value = numpy_helper.to_array(node.attribute[0].t)
        for name, matrix in expected.items():
            if value.shape == matrix.shape and np.array_equal(value, matrix):
                renamed[node.output[0]] = "fixed." + name
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
