"""
Writes the trained model as ONNX, 5 MB, with an int8 table: /usr/bin/python3 export.py MODEL.pt OUT.onnx

Inputs: features int32 (batch, words, 10), ids of `features`; pauses float (batch, words), seconds, -1 where unknown.
Outputs: marks (batch, words, 7), cases (batch, words, 3), ends (batch, words): logits.
"""

import sys

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from model import Punctuator

saved = torch.load(sys.argv[1])
model = Punctuator()
model.load_state_dict(saved["averaged"])
model.eval()


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, features, pauses):
        return self.model(features.long(), pauses)


example = (torch.zeros(2, 5, 10, dtype=torch.int32), torch.zeros(2, 5))
axes = {name: {0: "batch", 1: "words"} for name in ["features", "pauses", "marks", "cases", "ends"]}
torch.onnx.export(
    Exported(),
    example,
    sys.argv[2],
    input_names=["features", "pauses"],
    output_names=["marks", "cases", "ends"],
    dynamic_axes=axes,
    opset_version=13,
)
graph = onnx.load(sys.argv[2])
# The table by rows in int8, with a scale each: a tenth of the error of one scale.
table = max(graph.graph.initializer, key=lambda tensor: np.prod(tensor.dims))
values = numpy_helper.to_array(table)
scales = np.maximum(np.abs(values).max(1, keepdims=True), 1e-8) / 127
quantized = np.clip(np.round(values / scales), -127, 127).astype(np.int8)
name = table.name
graph.graph.initializer.remove(table)
graph.graph.initializer.append(numpy_helper.from_array(quantized, name))
graph.graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), "table_scales"))
for at, node in enumerate(graph.graph.node):
    if node.op_type == "Gather" and node.input[0] == name:
        ids, out = node.input[1], node.output[0]
        graph.graph.node.remove(node)
        added = [
            helper.make_node("Gather", [name, ids], ["table_int8"]),
            helper.make_node("Cast", ["table_int8"], ["table_cast"], to=TensorProto.FLOAT),
            helper.make_node("Gather", ["table_scales", ids], ["table_scale"]),
            helper.make_node("Mul", ["table_cast", "table_scale"], [out]),
        ]
        for offset, new in enumerate(added):
            graph.graph.node.insert(at + offset, new)
        break
else:
    raise SystemExit("the graph has no table")
# Everything else that is large in half precision, cast once when the graph is loaded.
for tensor in list(graph.graph.initializer):
    values = numpy_helper.to_array(tensor)
    if values.dtype == np.float32 and values.size > 2_000 and tensor.name != "table_scales":
        graph.graph.initializer.remove(tensor)
        graph.graph.initializer.append(numpy_helper.from_array(values.astype(np.float16), tensor.name + "_half"))
        cast = helper.make_node("Cast", [tensor.name + "_half"], [tensor.name], to=TensorProto.FLOAT)
        graph.graph.node.insert(0, cast)
onnx.checker.check_model(graph)
onnx.save(graph, sys.argv[2])
print(sys.argv[2], len(graph.SerializeToString()))
