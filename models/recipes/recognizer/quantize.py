"""int8 variants of the graphs with fixed scales.

    quantize.py probe IN.onnx PROBE.onnx                 the graph with the inputs of its matrix products as outputs
    quantize.py write IN.onnx OUT.onnx RANGES.json       RANGES: product's name -> [lowest, highest] of its input

Every product with a constant matrix of at least 4096 elements becomes QuantizeLinear, MatMulInteger with one
scale per column, and a scaling; the log-mel front end and everything else stay fp32. The scales of the
activations are constants, measured by `calibrate.mjs`, so a row does not depend on the rest of its batch, nor
a frame on how the audio was cut, as it would with dynamic scales; integer sums are exact. Weights take 7
bits: with 8, processors without VNNI overflow.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

AT_LEAST = 4096
KEPT = ("basis", "bank")  # parts of the log-mel
WEIGHT_STEPS = 63


def products(graph):
    """(node, matrix) of the products to change."""
    weights = {t.name: t for t in graph.initializer}
    for node in graph.node:
        tensor = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if tensor is not None and np.prod(tensor.dims) >= AT_LEAST and not any(k in tensor.name for k in KEPT):
            yield node, numpy_helper.to_array(tensor)


def probe(model):
    """Makes the input of every product an output of the graph, under the product's name."""
    graph = model.graph
    for node, _ in list(products(graph)):
        graph.node.append(helper.make_node("Identity", [node.input[0]], ["probe:" + node.output[0]]))
        graph.output.append(helper.make_tensor_value_info("probe:" + node.output[0], TensorProto.FLOAT, None))


def write(model, ranges):
    """Rewrites the products of the graph in place; returns their number."""
    graph = model.graph
    chosen = {node.output[0]: values for node, values in products(graph)}
    nodes = []

    def constant(name, values):
        graph.initializer.append(numpy_helper.from_array(values, name))
        return name

    for node in graph.node:
        name = node.output[0]
        if name not in chosen:
            nodes.append(node)
            continue
        values = chosen[name]
        low, high = min(ranges[name][0], 0.0), max(ranges[name][1], 0.0)
        step = max(high - low, 1e-6) / 255
        scale = np.maximum(np.abs(values).max(0), 1e-8) / WEIGHT_STEPS
        zero = constant(name + ".zero", np.uint8(round(-low / step)))
        nodes += [
            helper.make_node("QuantizeLinear", [node.input[0], constant(name + ".step", np.float32(step)), zero],
                             [name + ".q"]),
            helper.make_node("MatMulInteger",
                             [name + ".q", constant(name + ".int8", np.rint(values / scale).astype(np.int8)), zero],
                             [name + ".sum"]),
            helper.make_node("Cast", [name + ".sum"], [name + ".float"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [name + ".float", constant(name + ".scale", (scale * step).astype(np.float32))],
                             [name])]
    del graph.node[:]
    graph.node.extend(nodes)
    used = {i for n in graph.node for i in n.input}
    for tensor in [t for t in graph.initializer if t.name not in used]:
        graph.initializer.remove(tensor)
    return len(chosen)


if __name__ == "__main__":
    loaded = onnx.load(sys.argv[2])
    if sys.argv[1] == "probe":
        probe(loaded)
    else:
        with open(sys.argv[4], encoding="utf-8") as f:
            print(write(loaded, json.load(f)), "products are int8 now")
        onnx.checker.check_model(loaded)
    onnx.save(loaded, sys.argv[3])
