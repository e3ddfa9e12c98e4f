"""int8 in the exported graphs, with fixed scales.

Integer products have 8-bit inputs and 7-bit weights, one scale per column: QuantizeLinear with a constant
scale, then one operator of ONNX Runtime for the product, its scaling and the bias. An input is quantized
before its shifted copies are joined, so that copies are of bytes. Scales of activations are constants,
measured by `calibrate.py` and kept in activations.json: a row depends neither on the rest of its batch nor on
how a piece is cut, and integer sums are exact. With more than 7 bits of weights, processors without VNNI
overflow.

Matrices with few rows of input, or whose quantization costs quality, are stored in 8 bits and widened when
the graph is loaded: their arithmetic is fp32."""

import json
import os
import re

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from config import HERE

ACTIVATIONS = os.path.join(HERE, "activations.json")
CONTRIB = "com.microsoft"
INTEGER, STORED = 63, 127  # steps of a weight on each side of zero

# How a product's matrix is stored, by the name of its node. Others stay fp32 in fp16 storage.
RULES = {
    "step": [(r"/blocks\.\d+/(conv|out)/|/blocks\.0/adapt/", INTEGER), (r"/(time_in|time_out|inputs|outputs)/", STORED)],
    "encoder": [(r"/blocks\.\d+/(conv|out)/", INTEGER), (r"/duration_blocks\.\d+/(conv|out)/", INTEGER)],
    "condition": [(r"/pitch_blocks\.\d+/(conv|out)/", INTEGER), (r"/(pitch_inputs|outputs)/", STORED)],
    "vocoder": [(r"/blocks\.\d+/(conv|out)/", INTEGER), (r"/filters/", STORED)],
}
# Modules whose inputs calibrate.py watches, by graph: the attribute of the model.
PARTS = {"encoder": "encoder", "condition": "condition", "step": "decoder", "vocoder": None}


ADAPTATIONS = "/MatMul"  # the product for all adaptations of the step; in the module each block has one, with the same input


def module_of(node_name):
    """"/blocks.0/conv/MatMul" -> "blocks.0.conv"."""
    return node_name.strip("/").rsplit("/", 1)[0].replace("/", ".")


def node_of(module):
    """"blocks.0.conv" -> "/blocks.0/conv/MatMul"."""
    return "/" + re.sub(r"\.(?!\d)", "/", module) + "/MatMul"


def kind_of(graph_name, node_name):
    """INTEGER, STORED or None for a product."""
    return next((kind for rule, kind in RULES[graph_name] if re.search(rule, node_name)), None)


def rounded(matrix, steps):
    """Values of a matrix stored with this many steps: (int8 [K, N], scale f32 [N]).

    The largest weight of a column is `steps` steps. Scales have 16 bits, so that a step times its scale is exact in fp32:
    the values that `from_graphs.py` reads back round to themselves."""
    scale = (np.maximum(np.abs(matrix).max(0), 1e-8) / steps).astype(np.float32)
    scale = (scale.view(np.uint32) + 0x80 & 0xFFFFFF00).view(np.float32)
    return np.clip(np.rint(matrix / scale), -steps, steps).astype(np.int8), scale


def read_activations():
    """Reads {graph: {module: [step, zero point]}}, written by calibrate.py."""
    with open(ACTIVATIONS, encoding="utf-8") as file:
        return json.load(file)


class Rewriter:
    def __init__(self, model, name, activations):
        self.graph, self.name, self.activations = model.graph, name, activations
        self.model = model
        self.made = {output: node for node in self.graph.node for output in node.output}
        self.users = {}
        for node in self.graph.node:
            for value in node.input:
                self.users.setdefault(value, []).append(node)
        self.weights = {tensor.name: tensor for tensor in self.graph.initializer}
        self.rows = {name: tensor.dims[0] for name, tensor in self.weights.items() if len(tensor.dims) == 2}
        self.before, self.replaced, self.dropped, self.shared = {}, {}, set(), set()

    def constant(self, name, values):
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def run(self):
        """Rewrites the graph; returns the numbers of products that became integer and of matrices stored in 8
        bits."""
        counts = {INTEGER: 0, STORED: 0}
        for node in list(self.graph.node):
            if node.name == ADAPTATIONS:
                node.name = node_of("blocks.0.adapt")
            tensor = self.weights.get(node.input[1]) if node.op_type == "MatMul" else None
            kind = kind_of(self.name, node.name) if tensor is not None else None
            if kind is None:
                continue
            values, scale = rounded(numpy_helper.to_array(tensor), kind)
            name = tensor.name
            self.graph.initializer.remove(tensor)
            self.constant(name + ".int8", values)
            self.constant(name + ".scale", scale)
            if kind == STORED:
                self.before[id(node)] = [
                    helper.make_node("Cast", [name + ".int8"], [name + ".whole"], to=TensorProto.FLOAT),
                    helper.make_node("Mul", [name + ".whole", name + ".scale"], [name])]
            else:
                self.integer(node, name)
            counts[kind] += 1
        nodes = []
        for node in self.graph.node:
            nodes += self.before.get(id(node), [])
            nodes += [self.replaced.get(id(node), node)] if id(node) not in self.dropped else []
        read = {value for node in nodes for value in node.input}
        del self.graph.node[:]
        self.graph.node.extend(node for node in nodes if node.op_type != "Constant" or node.output[0] in read)
        if counts[INTEGER]:
            self.model.opset_import.append(helper.make_opsetid(CONTRIB, 1))
        return counts[INTEGER], counts[STORED]

    def integer(self, node, name):
        module = module_of(node.name)
        step, zero = self.activations[self.name][module]
        step, zero = self.constant(name + ".step", np.float32(step)), self.constant(name + ".zero", np.uint8(zero))
        (add,) = self.users[node.output[0]]
        assert add.op_type == "Add", node.name
        bias = next(value for value in add.input if value in self.weights)
        product = helper.make_node("MatMulIntegerToFloat", [self.bytes_of(node, step, zero), name + ".int8", step, name + ".scale", zero, "",
                                                            bias], [add.output[0]], name=node.name, domain=CONTRIB)
        self.dropped.add(id(node))
        self.replaced[id(add)] = product

    def bytes_of(self, node, step, zero):
        """Name of the product's input in bytes, quantized before the convolution's padding if there is one.
        """
        joined = self.made.get(node.input[0])
        taps = [self.made[value] for value in joined.input] if joined is not None and joined.op_type == "Concat" else []
        name = node.name + "/bytes"
        if not taps or any(tap.op_type != "Slice" for tap in taps):
            self.before[id(node)] = [helper.make_node("QuantizeLinear", [node.input[0], step, zero], [name])]
            return name
        pad = self.made[taps[0].input[0]]
        assert pad.op_type == "Pad" and all(tap.input[0] == pad.output[0] for tap in taps), node.name
        self.before[id(pad)] = [helper.make_node("QuantizeLinear", [pad.input[0], step, zero], [name])]
        pad.input[0] = name
        del pad.input[2:]
        pad.input.append(zero)
        return self.gathered(node, pad, taps)

    def gathered(self, node, pad, taps):
        """Replaces a slice per tap and their Concat by one Gather: fewer operators, and one copy instead of
        two."""
        starts = [int(self.value(tap.input[1])[0]) for tap in taps]
        assert starts[0] == 0
        places, prefix = self.before.setdefault(id(node), []), node.name + "/taps"
        if "positions" not in self.shared:
            whole, one = self.constant("taps.whole", np.int64(0)), self.constant("taps.one", np.int64(1))
            last = self.constant("taps.last", np.array([1], np.int64))
            places += [helper.make_node("Shape", [pad.input[0]], ["taps.lengths"], start=1, end=2),
                       helper.make_node("Squeeze", ["taps.lengths"], ["taps.length"]),
                       helper.make_node("Range", [whole, "taps.length", one], ["taps.range"]),
                       helper.make_node("Unsqueeze", ["taps.range", last], ["taps.positions"])]
            self.shared.add("positions")
        reach = "taps.by%d.of%d" % (starts[1], len(starts))
        if reach not in self.shared:
            places.append(helper.make_node("Add", ["taps.positions", self.constant(reach + ".starts", np.array(starts, np.int64))],
                                           [reach]))
            self.shared.add(reach)
        columns = int(self.rows[node.input[1]])
        places += [helper.make_node("Gather", [pad.output[0], reach], [prefix], axis=1),
                   helper.make_node("Reshape", [prefix, self.constant(prefix + ".shape", np.array([0, 0, columns], np.int64))],
                                    [prefix + ".flat"])]
        for old in taps + [self.made[node.input[0]]]:
            self.dropped.add(id(old))
        return prefix + ".flat"

    def value(self, name):
        if name in self.weights:
            return numpy_helper.to_array(self.weights[name])
        return numpy_helper.to_array(self.made[name].attribute[0].t)


def quantize(model, name, activations=None):
    """Converts a graph's products to integers, in place. Returns (integer products, matrices stored in 8
    bits)."""
    return Rewriter(model, name, read_activations() if activations is None else activations).run()
