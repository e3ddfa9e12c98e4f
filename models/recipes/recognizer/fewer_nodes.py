"""The same numbers from fewer operators: a step of a few live sessions is mostly the cost of its nodes.

    fewer_nodes.py IN.onnx OUT.onnx          rewrites a graph, which may be rewritten already
    fewer_nodes.py plain IN.onnx OUT.onnx    undoes it, for recipes that read or change the graph

- A product of bytes is one node with its scale and bias (`MatMulIntegerToFloat`), not four.
- The frames that a convolution reads are gathered from a list of their positions, shared by all layers with
  the same distances, instead of cut once for each tap and joined.
- `history` and `state` are split by one node.
- The front end pads and reshapes its samples without computing shapes.

Graphs for GPUs are made from the plain form (../gpu/variants.py): they have no products of bytes, and would
compute the positions on the CPU.
"""
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

PREFIX = "window."
CONTRIB = "com.microsoft"
FRAME, HOP = 640, 160  # samples in an output frame and between two log-mel frames
END = np.iinfo(np.int64).max
STATES = ("history", "state")


class Rewriter:
    def __init__(self, model):
        self.model, self.graph = model, model.graph
        self.values = {t.name: numpy_helper.to_array(t) for t in self.graph.initializer}
        for node in self.graph.node:
            if node.op_type == "Constant":
                self.values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.made = {o: n for n in self.graph.node for o in n.output}
        self.dropped, self.replaced, self.first = set(), {}, []

    def users(self, name):
        return [n for n in self.graph.node if name in n.input]

    def only_user(self, name, op):
        (node,) = self.users(name)
        assert node.op_type == op, "%s: %s expected, found %s" % (name, op, node.op_type)
        return node

    def constant(self, name, values):
        """Returns the name of an int64 or float constant, which is added once."""
        if PREFIX + name not in self.values:
            self.values[PREFIX + name] = np.asarray(values)
            self.graph.initializer.append(numpy_helper.from_array(self.values[PREFIX + name], PREFIX + name))
        return PREFIX + name

    def node(self, op, inputs, output, **attributes):
        # Recipes tell the nodes of voice activity by their names.
        return helper.make_node(op, inputs, [output], name=output, **attributes)

    def finish(self):
        """Applies the changes, orders the nodes, and removes what nothing reads."""
        nodes = list(self.first)
        for node in self.graph.node:
            nodes += self.replaced.get(id(node), [] if id(node) in self.dropped else [node])
        read = {o.name for o in self.graph.output}
        while True:
            used = read | {i for n in nodes for i in n.input}
            kept = [n for n in nodes if any(o in used for o in n.output)]
            if len(kept) == len(nodes):
                break
            nodes = kept
        del self.graph.node[:]
        self.graph.node.extend(in_order(nodes, {i.name for i in self.graph.input} | {t.name for t in self.graph.initializer}))
        for tensor in [t for t in self.graph.initializer if t.name not in used]:
            self.graph.initializer.remove(tensor)
        del self.graph.value_info[:]


def in_order(nodes, given):
    """Orders nodes so that each follows the ones that it reads. Constants come first."""
    known, out = given | {""}, []
    left = sorted(nodes, key=lambda n: n.op_type != "Constant")
    while left:
        later = []
        for node in left:
            if all(i in known for i in node.input):
                out.append(node)
                known |= set(node.output)
            else:
                later.append(node)
        assert len(later) < len(left), "a circle, or an input that nothing makes"
        left = later
    return out


def fuse_products(r):
    one = np.array(1, np.float32)
    for product in [n for n in r.graph.node if n.op_type == "MatMulInteger"]:
        cast = r.only_user(product.output[0], "Cast")
        scaled = r.only_user(cast.output[0], "Mul")
        added = r.only_user(scaled.output[0], "Add")
        scale = next(i for i in scaled.input if i != cast.output[0])
        bias = next(i for i in added.input if i != scaled.output[0])
        rows, matrix, zero = product.input
        fused = helper.make_node("MatMulIntegerToFloat", [rows, matrix, r.constant("one", one), scale, zero, "", bias],
                                 [added.output[0]], name=scaled.output[0], domain=CONTRIB)
        r.replaced[id(product)] = [fused]
        r.dropped |= {id(cast), id(scaled), id(added)}
    if all(o.domain != CONTRIB for o in r.model.opset_import):
        r.model.opset_import.append(helper.make_opsetid(CONTRIB, 1))


def part_products(r):
    for fused in [n for n in r.graph.node if n.op_type == "MatMulIntegerToFloat"]:
        rows, matrix, _, scale, zero, _, bias = fused.input
        name = fused.name
        r.replaced[id(fused)] = [r.node("MatMulInteger", [rows, matrix, zero], name + ".sum"),
                                 r.node("Cast", [name + ".sum"], name + ".float", to=onnx.TensorProto.FLOAT),
                                 r.node("Mul", [name + ".float", scale], name), r.node("Add", [name, bias], fused.output[0])]


def split_states(r):
    for name in STATES:
        cuts = sorted((n for n in r.users(name) if n.op_type == "Slice"), key=lambda n: int(r.values[n.input[1]][0]))
        if len(cuts) < 2:
            continue
        sizes = [int(r.values[n.input[2]][0] - r.values[n.input[1]][0]) for n in cuts]
        r.first.append(helper.make_node("Split", [name, r.constant(name + ".sizes", np.array(sizes, np.int64))],
                                        [n.output[0] for n in cuts], name=name + "/Split", axis=1))
        r.dropped |= {id(n) for n in cuts}


def cut_states(r):
    for split in [n for n in r.graph.node if n.op_type == "Split" and n.input[0] in STATES]:
        ends = np.cumsum(r.values[split.input[1]])
        cuts = []
        for output, size, end in zip(split.output, r.values[split.input[1]], ends):
            # The prefix of voice activity tells whose constants they are.
            place = lambda label, at: named_constant(r, "%s.%s" % (output, label), [at])
            cuts.append(r.node("Slice", [split.input[0], place("from", end - size), place("to", end), place("axis", 1)], output))
        r.replaced[id(split)] = cuts


def named_constant(r, name, values):
    r.values[name] = np.array(values, np.int64)
    r.graph.initializer.append(numpy_helper.from_array(r.values[name], name))
    return name


def splices(r):
    """(joined taps, taps, stride) of each convolution, in order."""
    for joined in [n for n in r.graph.node if n.op_type == "Concat"]:
        taps = [r.made.get(i) for i in joined.input]
        is_splice = all(t is not None and t.op_type == "Slice" and t.input[0] == taps[0].input[0] for t in taps)
        if is_splice and len(taps) > 2 and r.users(joined.output[0])[0].op_type.startswith("MatMulInteger"):
            yield joined, taps, int(r.values[taps[0].input[4]][0]) if len(taps[0].input) > 4 else 1


def gather_windows(r):
    if all(i.name != "pcm" for i in r.graph.input):
        return
    positions = {}
    samples = r.node("Shape", ["pcm"], PREFIX + "shape", start=1, end=2)
    count = r.node("Squeeze", [PREFIX + "shape"], PREFIX + "samples")

    def starts(per_frame, stride):
        """First position of each output frame, [frames, 1]."""
        name = "%sstarts.%d.%d" % (PREFIX, per_frame, stride)
        if name not in positions:
            step = r.constant("stride.%d" % stride, np.array(stride, np.int64))
            r.first.extend([
                r.node("Div", [PREFIX + "samples", r.constant("per.%d" % per_frame, np.array(per_frame, np.int64))], name + ".count"),
                r.node("Mul", [name + ".count", step], name + ".end"),
                r.node("Range", [r.constant("zero", np.array(0, np.int64)), name + ".end", step], name + ".row"),
                r.node("Unsqueeze", [name + ".row", r.constant("axis", np.array([1], np.int64))], name)])
            positions[name] = name
        return name

    def reads(per_frame, stride, offsets):
        """Positions that each output frame reads, [frames, taps]."""
        name = "%sreads.%d.%s" % (PREFIX, per_frame, "-".join(map(str, offsets)))
        if name not in positions:
            distances = r.constant("offsets.%s" % "-".join(map(str, offsets)), np.array([offsets], np.int64))
            r.first.append(r.node("Add", [starts(per_frame, stride), distances], name))
            positions[name] = name
        return name

    per_frame = HOP
    found = list(splices(r))
    if found:
        r.first.extend([samples, count])
    for joined, taps, stride in found:
        # Two layers of stride 2 lead from log-mel frames to output frames; all others keep the rate.
        per_frame *= stride
        offsets = [int(r.values[t.input[1]][0]) for t in taps]
        name = joined.output[0]
        width = r.values[r.users(name)[0].input[1]].shape[0]
        at = reads(per_frame if stride > 1 else FRAME, stride, offsets)
        r.replaced[id(joined)] = [
            r.node("Gather", [taps[0].input[0], at], name + ".taps", axis=1),
            r.node("Reshape", [name + ".taps", r.constant("width.%d" % width, np.array([0, -1, width], np.int64))], name)]
        r.dropped |= {id(t) for t in taps}


def cut_windows(r):
    for gather in [n for n in r.graph.node if n.op_type == "Gather" and n.output[0].endswith(".taps")]:
        name = gather.output[0][:-len(".taps")]
        add = r.made[gather.input[1]]
        offsets = [int(v) for v in r.values[add.input[1]][0]]
        stride = int(r.values[r.made[r.made[add.input[0]].input[0]].input[2]])
        taps = []
        for nth, offset in enumerate(offsets):
            tap = "%s.tap%d" % (name, nth)
            place = lambda label, at: named_constant(r, "%s.%s" % (tap, label), [at])
            to = offset - offsets[-1] if offset < offsets[-1] else END
            taps.append(r.node("Slice", [gather.input[0], place("from", offset), place("to", to), place("axis", 1),
                                         place("step", stride)], tap))
        r.dropped.add(id(gather))
        r.replaced[id(r.made[name])] = taps + [r.node("Concat", [t.output[0] for t in taps], name, axis=-1)]


def shorten_front_end(r):
    """Zeros fill up the last hop: a node pads them, and a constant shape cuts the samples into hops. A window of
    400 samples is two hops and a half."""
    padded, hops, third = (r.made.get("/mel/%s_output_0" % name) for name in ("Concat", "Reshape", "Slice_4"))
    if padded is None or padded.op_type == "Pad":
        return
    r.replaced[id(padded)] = [r.node("Pad", [padded.input[0], r.constant("pads", np.array([0, 0, 0, HOP // 2], np.int64))],
                                     padded.output[0])]
    hops.input[1] = r.constant("hops", np.array([0, -1, HOP], np.int64))
    cut = [r.constant("half." + label, np.array(at, np.int64)) for label, at in
           (("from", [2, 0]), ("to", [END, HOP // 2]), ("axes", [1, 2]))]
    r.replaced[id(third)] = [r.node("Slice", [hops.output[0], *cut], third.output[0])]


def rewritten(model):
    """Rewrites a graph in place and returns it; a graph that is rewritten already stays as it is."""
    if any(t.name.startswith(PREFIX + "one") for t in model.graph.initializer):
        return model
    for change in (shorten_front_end, gather_windows, split_states, fuse_products):
        r = Rewriter(model)
        change(r)
        r.finish()
    onnx.checker.check_model(model)
    return model


def plain(model):
    """Undoes the rewriting in place, except for the front end, and returns the model."""
    for change in (part_products, cut_states, cut_windows):
        r = Rewriter(model)
        change(r)
        r.finish()
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    *command, source, target = sys.argv[1:]
    onnx.save((plain if command == ["plain"] else rewritten)(onnx.load(source)), target)
