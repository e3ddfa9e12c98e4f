"""int8 graphs that move bytes where bytes are enough; every result stays bit-identical.

    pack.py IN.onnx OUT.onnx

The input of a product is spliced from shifted frames and then quantized with a constant scale. If quantized
first, a frame is quantized once instead of three times, and splices copy a quarter. In the streaming graph,
the frames that a convolution remembers are kept quantized, too, where their zero point is 0: `state` becomes
`state` [B, F] (samples and mel frames, fp32) and `history` [B, H] (uint8; zeros begin a stream), `next_state`
likewise, so that its owner also moves only a quarter.
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, graph):
        self.graph = graph
        self.made = {o: n for n in graph.node for o in n.output}
        self.users = {}
        for node in graph.node:
            for name in node.input:
                self.users.setdefault(name, []).append(node)
        self.weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}

    def constant(self, name):
        if name in self.weights:
            return self.weights[name]
        value = next(a for a in self.made[name].attribute if a.name == "value")
        return numpy_helper.to_array(helper.get_attribute_value(value))

    def user(self, name, op):
        found = [n for n in self.users[name] if n.op_type == op]
        assert len(found) == 1, "%s: one %s expected, found %d" % (name, op, len(found))
        return found[0]


def convolutions(g, joined):
    """(flattened next state, convolution) for each part of `next_state`; None if a part does not belong to a
    quantized convolution."""
    for name in joined.input:
        flat = g.made[name]
        if flat.op_type != "Flatten":
            yield name, None
            continue
        kept = g.made[flat.input[0]]
        padded = g.made[kept.input[0]]
        cast = g.made[padded.input[0]]
        reshape = g.made[cast.input[0]]
        taps = next(n for n in g.users[padded.output[0]] if n is not kept)
        splice = g.user(taps.output[0], "Concat")
        quantize = g.users[splice.output[0]][0]
        is_plain = quantize.op_type == "QuantizeLinear" and int(g.constant(quantize.input[2])) == 0
        yield name, dict(padded=padded, cast=cast, reshape=reshape, splice=splice, quantize=quantize) if is_plain else None


def quantize_first(model):
    """Quantizes the inputs of products before they are spliced; returns their number."""
    g = Graph(model.graph)
    after, dropped = {}, set()
    for quantize in [n for n in model.graph.node if n.op_type == "QuantizeLinear"]:
        splice = g.made.get(quantize.input[0])
        taps = [g.made[i] for i in splice.input] if splice is not None and splice.op_type == "Concat" else []
        if not taps or any(t.op_type != "Slice" or len(g.users[t.output[0]]) > 1 for t in taps):
            continue
        padded = taps[0].input[0]
        assert all(t.input[0] == padded for t in taps)
        name = quantize.output[0] + ".padded"
        after[id(g.made[padded])] = helper.make_node("QuantizeLinear", [padded, *quantize.input[1:]], [name])
        for tap in taps:
            tap.input[0] = name
        g.user(quantize.output[0], "MatMulInteger").input[0] = splice.output[0]
        dropped.add(id(quantize))
    nodes = []
    for node in model.graph.node:
        nodes += [node] if id(node) not in dropped else []
        nodes += [after[id(node)]] if id(node) in after else []
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return len(dropped)


def keep_bytes(model):
    """Moves the history of convolutions into a tensor of bytes; returns (floats, bytes) of a row's state."""
    g = Graph(model.graph)
    joined = g.made["next_state"]
    floats, history, inserted, dropped = [], [], {}, {id(joined)}
    float_count = byte_count = 0

    def move(piece, tensor, start, size):
        """Replaces cuts of a part of `tensor` from `start` on."""
        piece.input[0] = tensor
        for at, value in ((1, start), (2, start + size)):
            name = "%s.%s%d" % (piece.name, tensor, at)
            model.graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
            piece.input[at] = name

    pieces = sorted((n for n in g.users["state"]), key=lambda n: int(g.constant(n.input[1])[0]))
    for piece, (name, found) in zip(pieces, convolutions(g, joined)):
        start, end = (int(g.constant(piece.input[i])[0]) for i in (1, 2))
        if found is None:
            move(piece, "state", float_count, end - start)
            floats.append(name)
            float_count += end - start
            continue
        assert g.made[found["reshape"].input[0]] is piece
        size = int(np.prod(g.constant(found["reshape"].input[1])[1:]))
        move(piece, "history", byte_count, size)
        history.append(name)
        byte_count += size
        padded, quantize = found["padded"], found["quantize"]
        fresh = quantize.output[0] + ".new"
        inserted[id(padded)] = helper.make_node("QuantizeLinear", [padded.input[1], *quantize.input[1:]], [fresh])
        padded.input[0], padded.input[1] = found["reshape"].output[0], fresh
        g.user(quantize.output[0], "MatMulInteger").input[0] = found["splice"].output[0]
        dropped |= {id(found["cast"]), id(quantize)}
    nodes = []
    for node in model.graph.node:
        nodes += [inserted[id(node)]] if id(node) in inserted else []
        nodes += [node] if id(node) not in dropped else []
    nodes += [helper.make_node("Concat", floats, ["next_state"], axis=1),
              helper.make_node("Concat", history, ["next_history"], axis=1)]
    read = {name for node in nodes for name in node.input}
    del model.graph.node[:]
    model.graph.node.extend(n for n in nodes if n.op_type != "Constant" or n.output[0] in read)
    describe(model.graph.input, "state", float_count, "history", byte_count)
    describe(model.graph.output, "next_state", float_count, "next_history", byte_count)
    return float_count, byte_count


def describe(values, floats, float_count, history, byte_count):
    others = [v for v in values if v.name != floats]
    del values[:]
    values.extend(others + [helper.make_tensor_value_info(floats, TensorProto.FLOAT, ["batch", float_count]),
                            helper.make_tensor_value_info(history, TensorProto.UINT8, ["batch", byte_count])])


if __name__ == "__main__":
    loaded = onnx.load(sys.argv[1])
    inputs = [i.name for i in loaded.graph.input]
    if "history" in inputs:
        sys.exit("%s keeps its history as bytes already" % sys.argv[1])
    if "state" in inputs:
        print("%d floats and %d bytes a row" % keep_bytes(loaded))
    print(quantize_first(loaded), "products are quantized before they are spliced")
    onnx.checker.check_model(loaded)
    onnx.save(loaded, sys.argv[2])
