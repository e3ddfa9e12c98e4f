"""Variants of a package's graphs for GPUs, which have no products of uint8 by int8.

    variants.py MODEL_FOLDER...        writes GRAPH.gpu.onnx next to each graph with integer products, and the manifest's `gpu`

Quantized values become floats with integer values, their zero point subtracted: at most 255 by 127, and the
sums of a product stay below 2^24, which is checked. fp32, and TF32 with fp32 sums, represent them exactly in
any order, so a product equals that of the integers. Rounding to even is two additions, since WebGPU has no
Round. The memory of a quantized convolution (`history`) follows the floats of `state`.

No weight is stored twice: constants of a variant stay at their positions in the original graph, its side
file. int8 matrices are widened by Cast, which the runtime runs once at load.
"""
import hashlib
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "recognizer"))
from fewer_nodes import plain

LEAST_SHARED_BYTES = 256
MOST_PARTS = 7
EXACT_BELOW = 2 ** 24
ROUNDER = np.float32(1.5 * 2 ** 23)  # added and taken away again it leaves a whole number, ties to even
CONTRIB = "com.microsoft"
MOVES = ("Concat", "Slice", "Reshape", "Flatten", "Split", "Expand", "Squeeze", "Unsqueeze", "Transpose", "Pad", "Gather")
HISTORY, NEXT_HISTORY = ("state", "history"), ("next_state", "next_history")


class Variant:
    def __init__(self, model):
        self.model, self.graph = model, model.graph
        self.made = {output: node for node in self.graph.node for output in node.output}
        self.users = {}
        for node in self.graph.node:
            for value in node.input:
                self.users.setdefault(value, []).append(node)
        self.weights = {tensor.name: tensor for tensor in self.graph.initializer}
        self.zeros = self.zero_points()
        self.nodes, self.dropped, self.widened = [], set(), set()
        self.products = 0

    def rewrite(self):
        """Rewrites the graph in place; returns the number of products that are now floats."""
        for node in self.graph.node:
            if id(node) not in self.dropped:
                getattr(self, "on_" + node.op_type, self.moved)(node)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        self.join_history()
        read = {value for node in self.graph.node for value in node.input}
        for tensor in [tensor for tensor in self.graph.initializer if tensor.name not in read]:
            self.graph.initializer.remove(tensor)
        kept = [node for node in self.graph.node if node.op_type != "Constant" or node.output[0] in read]
        del self.graph.node[:]
        self.graph.node.extend(kept)
        domains = {node.domain for node in kept}
        for opset in [opset for opset in self.model.opset_import if opset.domain == CONTRIB and CONTRIB not in domains]:
            self.model.opset_import.remove(opset)
        del self.graph.value_info[:]
        return self.products

    def value(self, name):
        if name in self.weights:
            return numpy_helper.to_array(self.weights[name])
        return numpy_helper.to_array(self.made[name].attribute[0].t)

    def constant(self, name, value):
        if name not in self.weights:
            self.weights[name] = numpy_helper.from_array(np.asarray(value), name)
            self.graph.initializer.append(self.weights[name])
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output + "/" + op, **attributes))
        return output

    def zero_points(self):
        """{quantized value: its zero point}; operators that only move bytes have the same one for inputs and
        outputs."""
        zeros = {node.output[0]: int(self.value(node.input[2])) for node in self.graph.node if node.op_type == "QuantizeLinear"}
        grows = True
        while grows:
            grows = False
            for node in self.graph.node:
                if node.op_type not in MOVES:
                    continue
                moved = (list(node.input) if node.op_type == "Concat" else [node.input[0]]) + list(node.output)
                known = {zeros[value] for value in moved if value in zeros}
                assert len(known) < 2, "%s joins zero points %s" % (node.name, known)
                if known and any(value not in zeros for value in moved):
                    zeros.update({value: next(iter(known)) for value in moved})
                    grows = True
        return zeros

    def moved(self, node):
        if node.op_type == "Concat":
            for value in [value for value in node.input if value in self.zeros and value in self.weights]:
                self.replace(value)
        self.nodes.append(node)

    def replace(self, name):
        """Turns a constant of bytes into one of floats."""
        tensor = self.weights[name]
        if tensor.data_type == TensorProto.UINT8:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32) - self.zeros[name], name))

    def on_Pad(self, node):
        if node.output[0] in self.zeros:
            # The padding was the zero point.
            assert int(self.value(node.input[2])) == self.zeros[node.output[0]], node.name
            del node.input[2:]
        self.nodes.append(node)

    def on_Constant(self, node):
        tensor = node.attribute[0].t
        if node.output[0] in self.zeros and tensor.data_type == TensorProto.UINT8:
            values = numpy_helper.to_array(tensor).astype(np.float32) - self.zeros[node.output[0]]
            tensor.CopyFrom(numpy_helper.from_array(values))
        self.nodes.append(node)

    def on_ConstantOfShape(self, node):
        zero = self.zeros.get(node.output[0])
        if zero is not None:
            value = float(numpy_helper.to_array(node.attribute[0].t).ravel()[0]) - zero
            node.attribute[0].t.CopyFrom(helper.make_tensor("value", TensorProto.FLOAT, [1], [value]))
        self.nodes.append(node)

    def on_Split(self, node):
        """Split into many parts, it binds more buffers than WebGPU guarantees (8): each part becomes a slice.
        """
        if len(node.output) < MOST_PARTS:
            self.nodes.append(node)
            return
        axis = self.constant(node.output[0] + ".axis", np.array([node.attribute[0].i], np.int64))
        ends = np.cumsum(self.value(node.input[1]))
        for output, size, end in zip(node.output, self.value(node.input[1]), ends):
            places = [self.constant("%s.%s" % (output, name), np.array([at], np.int64))
                      for name, at in (("from", end - size), ("to", end))]
            self.add("Slice", [node.input[0]] + places + [axis], output)

    def on_QuantizeLinear(self, node):
        value, step, _ = node.input
        output = node.output[0]
        zero = self.zeros[output]
        # Divide, as QuantizeLinear itself does.
        steps = self.add("Div", [value, step], output + ".steps")
        lowest = self.constant("whole.lowest.%d" % zero, np.float32(-zero))
        highest = self.constant("whole.highest.%d" % zero, np.float32(255 - zero))
        within = self.add("Clip", [steps, lowest, highest], output + ".within")
        rounder = self.constant("whole.rounder", ROUNDER)
        self.add("Sub", [self.add("Add", [within, rounder], output + ".up"), rounder], output)

    def on_MatMulInteger(self, node):
        (cast,) = self.users[node.output[0]]
        assert cast.op_type == "Cast", node.name
        self.dropped.add(id(cast))
        self.product(node, node.input[2], cast.output[0])

    def on_MatMulIntegerToFloat(self, node):
        _, _, step, scales, zero, _, bias = node.input
        output = node.output[0]
        sums = self.product(node, zero, output + ".sums")
        scale = self.add("Mul", [step, scales], output + ".scale")
        self.add("Add", [self.add("Mul", [sums, scale], output + ".scaled"), bias], output)

    def product(self, node, zero, output):
        rows, matrix = node.input[:2]
        assert int(self.value(zero)) == self.zeros[rows], node.name
        reach = max(self.zeros[rows], 255 - self.zeros[rows])
        largest = int(np.abs(self.value(matrix).astype(np.int64)).sum(0).max()) * reach
        assert largest < EXACT_BELOW, "%s: sums may reach %d, which floats do not hold exactly" % (node.name, largest)
        wide = matrix + ".wide"
        if matrix not in self.widened:
            self.add("Cast", [matrix], wide, to=TensorProto.FLOAT)
            self.widened.add(matrix)
        self.products += 1
        return self.add("MatMul", [rows, wide], output)

    def join_history(self):
        inputs = {value.name: value for value in self.graph.input}
        if HISTORY[1] not in inputs:
            return
        assert self.zeros[HISTORY[1]] == 0
        floats, more = (inputs[name].type.tensor_type.shape.dim[1].dim_value for name in HISTORY)
        for node in [node for node in self.graph.node if node.input and node.input[0] == HISTORY[1]]:
            assert node.op_type == "Slice", node.name
            for at in (1, 2):
                node.input[at] = self.constant("%s.at.%d" % (node.output[0], at), self.value(node.input[at]) + floats)
            node.input[0] = HISTORY[0]
        values, bytes_ = (next(node for node in self.graph.node if list(node.output) == [name]) for name in NEXT_HISTORY)
        assert values.op_type == bytes_.op_type == "Concat"
        for node in (values, bytes_):
            self.graph.node.remove(node)
        self.graph.node.append(helper.make_node("Concat", list(values.input) + list(bytes_.input), [NEXT_HISTORY[0]],
                                                name=NEXT_HISTORY[0], axis=1))
        for values, (name, gone) in ((self.graph.input, HISTORY), (self.graph.output, NEXT_HISTORY)):
            batch = next(value for value in values if value.name == name).type.tensor_type.shape.dim[0]
            kept = [value for value in values if value.name not in (name, gone)]
            del values[:]
            values.extend(kept + [helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch.dim_param or batch.dim_value, floats + more])])


def share(graph, content, location):
    """Turns constants into positions in the file `location`, whose bytes are `content`; returns the bytes
    that stay."""
    own = 0
    for tensor in graph.initializer:
        raw = tensor.raw_data
        at = content.find(raw) if len(raw) >= LEAST_SHARED_BYTES else -1
        if at < 0:
            own += len(raw)
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("offset", at), ("length", len(raw))):
            tensor.external_data.add(key=key, value=str(value))
    return own


def write(folder, name, file):
    """Returns the manifest entry of the graph's variant; None when the graph has no integer products."""
    with open(os.path.join(folder, file["path"]), "rb") as graph:
        content = graph.read()
    model = plain(onnx.load_from_string(content))
    products = Variant(model).rewrite()
    if products == 0:
        return None
    own = share(model.graph, content, os.path.basename(file["path"]))
    path = file["path"][:-len(".onnx")] + ".gpu.onnx"
    target = os.path.join(folder, path)
    onnx.save(model, target)
    onnx.checker.check_model(target)
    print("%s: %d products, %d bytes, %d of them constants" % (path, products, os.path.getsize(target), own))
    with open(target, "rb") as variant:
        return {"path": path, "sha256": hashlib.sha256(variant.read()).hexdigest(), "external": [name]}


def main(folders):
    for folder in folders:
        path = os.path.join(folder, "manifest.json")
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        for name, file in manifest["files"].items():
            file.pop("gpu", None)
            variant = write(folder, name, file) if file["path"].endswith(".onnx") else None
            if variant is not None:
                file["gpu"] = variant
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
