"""Turns a checkpoint into an int8 graph, and puts it into a recogniser's streaming graph in place of its own
voice activity.

    export_near.py alone --checkpoint FILE --shards FOLDER --stream STREAM.onnx --out NEAR.onnx
    export_near.py inside --near NEAR.onnx --stream STREAM.onnx --out STREAM.onnx

Both share the front end of STREAM.onnx (the recogniser's log-mel, without its logarithm). Alone: `pcm` f32
[B, 640 n] in -1..1, `state` f32 [B, 240] (the last samples), `history` uint8 [B, H]; zeros begin a stream ->
`speech` [B, n], `next_state`, `next_history`. Inside: the history follows the recogniser's own, and `speech`
is this network's; nothing else changes. Products are as in `../recognizer/quantize.py`: inputs of 8 bits with
fixed scales, weights of 7 bits, and the memory of a convolution is kept as the quantized bytes.
"""
import argparse
import copy

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import network
import train_near as train
from network import affine
from fewer_nodes import plain, rewritten  # network.py puts its folder on the path

PREFIX = "near."
WEIGHT_STEPS = 63
LOG_RANGE = (float(np.log(network.FLOOR)), 9.4)
POWER, LAST_SAMPLES = "/mel/MatMul_1_output_0", "/Slice_11_output_0"
PCM_HISTORY = 240
# Subtracted from the last bias. A pause that is noticed a frame late makes every final late; a missed frame
# of speech inside an utterance costs nothing, since it takes five of them to end it.
LEANING = 0.6


def folded(model):
    """(matrix [in, out], bias) of the stem, after logarithms, and of every block; and the head."""
    m = copy.deepcopy(model).eval()
    scale, shift = affine(m.stem.norm)
    matrix = (m.stem.linear.weight.data * scale[:, None]).T.double()
    std, mean = m.std.double(), m.mean.double()
    stem = matrix / std[:, None], shift.double() - (matrix * (mean / std)[:, None]).sum(0)
    blocks = []
    for block in m.causal:
        scale, shift = affine(block.norm)
        blocks.append(((block.linear.weight.data * scale[:, None]).T.double(), shift.double()))
    array = lambda pair: tuple(np.asarray(t, np.float32) for t in pair)
    return array(stem), [array(b) for b in blocks], (m.head.weight.data.T.numpy().copy(), m.head.bias.data.numpy().copy())


def ranges(model, shards, batches):
    """Highest input of every block over some batches, except for one value in 20,000."""
    tops = [[] for _ in model.causal]
    hooks = [block.register_forward_pre_hook(lambda _, args, top=top: top.append(np.quantile(args[0].numpy()[:, ::5, ::3], 0.99995)))
             for block, top in zip(model.causal, tops)]
    rng = np.random.default_rng(9)
    with torch.no_grad():
        for _ in range(batches):
            model(train.batch(rng, shards, 24, 8)[0])
    for hook in hooks:
        hook.remove()
    return [float(np.max(top)) for top in tops]


class Builder:
    def __init__(self):
        self.nodes, self.initializers, self.names = [], [], set()

    def constant(self, name, values):
        if PREFIX + name not in self.names:
            self.names.add(PREFIX + name)
            self.initializers.append(numpy_helper.from_array(np.asarray(values), PREFIX + name))
        return PREFIX + name

    def node(self, op, inputs, output, **attributes):
        name = output if output in ("speech",) else PREFIX + output
        self.nodes.append(helper.make_node(op, inputs, [name], name=PREFIX + output + "/" + op, **attributes))
        return name

    def product(self, x, name, matrix, bias, step, zero):
        """int8 product of quantized x, as floats, after its rectifier."""
        scale = np.maximum(np.abs(matrix).max(0), 1e-8) / WEIGHT_STEPS
        int8 = self.constant(name + ".int8", np.rint(matrix / scale).astype(np.int8))
        sums = self.node("MatMulInteger", [x, int8, zero], name + ".sum")
        floats = self.node("Cast", [sums], name + ".float", to=TensorProto.FLOAT)
        scaled = self.node("Mul", [floats, self.constant(name + ".scale", (scale * step).astype(np.float32))], name + ".scaled")
        added = self.node("Add", [scaled, self.constant(name + ".bias", bias)], name + ".added")
        return self.node("Relu", [added], name + ".relu")

    def slice(self, x, start, end, name):
        """Frames start to end of x."""
        one = lambda label, v: self.constant(label, np.array([v], np.int64))
        return self.node("Slice", [x, one("at%d" % start, start), one("at%d" % end, end), one("at1", 1)], name)


END = np.iinfo(np.int64).max


def body(model, tops):
    """Nodes from power [B, 4 n, 80] and `history` to `speech`. Returns (builder, parts of the next history, bytes of it)."""
    stem, blocks, head = folded(model)
    channels, b = model.config["channels"], Builder()
    frames = b.node("Reshape", [POWER, b.constant("frames", np.array([0, -1, network.STACK * network.MELS], np.int64))], "stacked")
    pooled = b.node("MatMul", [frames, b.constant("pooling", network.pooling())], "pooled")
    logs = b.node("Log", [b.node("Add", [pooled, b.constant("floor", np.float32(network.FLOOR))], "raised")], "log")
    step = (LOG_RANGE[1] - LOG_RANGE[0]) / 255
    zero = b.constant("stem.zero", np.uint8(round(-LOG_RANGE[0] / step)))
    q = b.node("QuantizeLinear", [logs, b.constant("stem.step", np.float32(step)), zero], "stem.q")
    x = b.product(q, "stem", *stem, np.float32(step), zero)
    parts, at = [], 0
    none = b.constant("zero", np.uint8(0))
    for i, (dilation, (matrix, bias), top) in enumerate(zip(model.config["causal"], blocks, tops)):
        name, size = "causal%d" % i, 2 * dilation * channels
        step = np.float32(top / 255)
        fresh = b.node("QuantizeLinear", [x, b.constant(name + ".step", step), none], name + ".q")
        held = b.slice("history", at, at + size, name + ".held")
        frames = b.node("Reshape", [held, b.constant(name + ".shape", np.array([-1, 2 * dilation, channels], np.int64))], name + ".frames")
        padded = b.node("Concat", [frames, fresh], name + ".padded", axis=1)
        taps = [b.slice(padded, 0, -2 * dilation, name + ".first"), b.slice(padded, dilation, -dilation, name + ".second"),
                b.slice(padded, 2 * dilation, END, name + ".third")]
        spliced = b.node("Concat", taps, name + ".spliced", axis=2)
        y = b.product(spliced, name, matrix, bias, step, none)
        x = b.node("Add", [x, y], name + ".out")
        parts.append(b.node("Flatten", [b.slice(padded, -2 * dilation, END, name + ".kept")], name + ".flat"))
        at += size
    logit = b.node("MatMul", [x, b.constant("head.weight", head[0])], "head")
    added = b.node("Add", [logit, b.constant("head.bias", head[1] - np.float32(LEANING))], "head.added")
    flat = b.node("Squeeze", [added, b.constant("last", np.array([-1], np.int64))], "head.flat")
    b.node("Sigmoid", [flat], "speech")
    return b, parts, at


def pruned(graph):
    """Keeps the nodes that the outputs need, each once, and the constants that they read."""
    made = {o: n for n in graph.node for o in n.output}
    needed, todo = set(), [o.name for o in graph.output]
    while todo:
        node = made.get(todo.pop())
        if node is not None and id(node) not in needed:
            needed.add(id(node))
            todo += list(node.input)
    nodes = [n for n in graph.node if id(n) in needed]
    read = {i for n in nodes for i in n.input}
    del graph.node[:]
    graph.node.extend(nodes)
    kept = [t for t in graph.initializer if t.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.value_info[:]


def sorted_nodes(graph):
    """Orders nodes so that each follows the ones that it reads."""
    known = {t.name for t in graph.initializer} | {i.name for i in graph.input} | {""}
    left, out = list(graph.node), []
    while left:
        ready = [n for n in left if all(i in known for i in n.input)]
        assert ready, "a circle, or an input that nothing makes"
        out += ready
        known |= {o for n in ready for o in n.output}
        taken = {id(n) for n in ready}
        left = [n for n in left if id(n) not in taken]
    del graph.node[:]
    graph.node.extend(out)


def width(values, name):
    return next(v for v in values if v.name == name).type.tensor_type.shape.dim[1]


def is_near(name):
    return name.startswith(PREFIX)


def without_near(graph):
    """Removes the parts that an earlier export added; returns the bytes of history that are the recogniser's
    own."""
    joined = next(n for n in graph.node if "next_history" in n.output)
    own = [i for i in joined.input if not is_near(i)]
    shapes = [numpy_helper.to_array(t) for t in graph.initializer if is_near(t.name) and t.name.endswith(".shape")]
    del joined.input[:]
    joined.input.extend(own)
    nodes = [n for n in graph.node if not is_near(n.name) and "speech" not in n.output]
    del graph.node[:]
    graph.node.extend(nodes)
    kept = [t for t in graph.initializer if not is_near(t.name)]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return width(graph.input, "history").dim_value - sum(int(np.prod(shape[1:])) for shape in shapes)


def alone(stream, model, tops):
    """Voice activity by itself, after the front end of a recogniser's streaming graph."""
    graph = stream.graph
    without_near(graph)
    b, parts, size = body(model, tops)
    nodes = [n for n in graph.node if not {"next_history", "next_state"} & set(n.output)]
    del graph.node[:]
    graph.node.extend(nodes + b.nodes)
    graph.initializer.extend(b.initializers)
    graph.node.extend([helper.make_node("Concat", parts, ["next_history"], axis=1, name="next_history/Concat"),
                       helper.make_node("Identity", [LAST_SAMPLES], ["next_state"], name="next_state/Identity")])
    kept = [o for o in graph.output if o.name in ("speech", "next_state", "next_history")]
    del graph.output[:]
    graph.output.extend(kept)
    for values, prefix in ((graph.input, ""), (graph.output, "next_")):
        width(values, prefix + "history").dim_value = size
        width(values, prefix + "state").dim_value = PCM_HISTORY
    graph.name = "near-speaker voice activity"
    return finished(stream)


def inside(stream, near):
    """A recogniser's streaming graph with the voice activity of `near`; log_probs and encoded stay
    bit-identical."""
    graph, given = stream.graph, near.graph
    own, size = without_near(graph), width(given.input, "history").dim_value
    values = {t.name: t for t in given.initializer}
    for node in (n for n in given.node if is_near(n.name)):
        if node.input[0] == "history":
            # Its part of the history follows the recogniser's.
            for i in (1, 2):
                at = int(numpy_helper.to_array(values[node.input[i]])[0]) + own
                node.input[i] = "%s.from%d" % (node.name, i)
                graph.initializer.append(numpy_helper.from_array(np.array([at], np.int64), node.input[i]))
        graph.node.append(node)
    graph.initializer.extend(t for t in given.initializer if is_near(t.name))
    parts = next(n for n in given.node if "next_history" in n.output).input
    next(n for n in graph.node if "next_history" in n.output).input.extend(parts)
    width(graph.input, "history").dim_value = own + size
    width(graph.output, "next_history").dim_value = own + size
    return finished(stream)


def finished(model):
    pruned(model.graph)
    sorted_nodes(model.graph)
    onnx.checker.check_model(model)
    return model


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = p.add_subparsers(dest="command", required=True)
    c = commands.add_parser("alone")
    c.add_argument("--checkpoint", required=True)
    c.add_argument("--shards", required=True, help="what the scales of the activations are measured on")
    i = commands.add_parser("inside")
    i.add_argument("--near", required=True)
    for command in (c, i):
        command.add_argument("--stream", required=True, help="streaming graph of a recogniser, packed")
        command.add_argument("--out", required=True)
    a = p.parse_args()
    if a.command == "inside":
        onnx.save(rewritten(inside(plain(onnx.load(a.stream)), plain(onnx.load(a.near)))), a.out)
        return
    torch.set_num_threads(1)
    torch.manual_seed(9)
    model, _ = network.load(a.checkpoint)
    shards = train.Shards(a.shards)
    shards.refresh()
    tops = ranges(model, shards, 6)
    print("highest inputs of the blocks:", [round(t, 2) for t in tops])
    onnx.save(rewritten(alone(plain(onnx.load(a.stream)), model, tops)), a.out)


if __name__ == "__main__":
    main()
