"""
Writes the trained model into a folder, 5.3 MB: /usr/bin/python3 export.py MODEL.pt FOLDER

words.safetensors: `table` int8 (40000, 88) with `scales` float32 (40000), and the causal GRU with its head in
float32, for a reader that takes one word at a time.
marks.onnx: embedded float (batch, words, 88), sums of table rows; pauses float (batch, words), seconds, -1 where
unknown → logits marks (batch, words, 7), cases (batch, words, 3).
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from model import WIDTH, Punctuator

folder = Path(sys.argv[2])
model = Punctuator()
model.load_state_dict(torch.load(sys.argv[1])["averaged"])
model.eval()


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = model

    def forward(self, embedded, pauses):
        return self.model.marks_and_cases(embedded, pauses)


axes = {name: {0: "batch", 1: "words"} for name in ["embedded", "pauses", "marks", "cases"]}
torch.onnx.export(
    Exported(),
    (torch.zeros(2, 5, WIDTH), torch.zeros(2, 5)),
    folder / "marks.onnx",
    input_names=["embedded", "pauses"],
    output_names=["marks", "cases"],
    dynamic_axes=axes,
    opset_version=13,
)
graph = onnx.load(folder / "marks.onnx")
# Large constants are in half precision, cast once when the graph is loaded.
for tensor in list(graph.graph.initializer):
    values = numpy_helper.to_array(tensor)
    if values.dtype == np.float32 and values.size > 2_000:
        graph.graph.initializer.remove(tensor)
        graph.graph.initializer.append(numpy_helper.from_array(values.astype(np.float16), tensor.name + "_half"))
        cast = helper.make_node("Cast", [tensor.name + "_half"], [tensor.name], to=TensorProto.FLOAT)
        graph.graph.node.insert(0, cast)
onnx.checker.check_model(graph)
onnx.save(graph, folder / "marks.onnx")

# int8 by rows, each with its own scale: a tenth of the error of a single scale.
table = model.table.weight.detach().numpy()
scales = np.maximum(np.abs(table).max(1), 1e-8) / 127
tensors = {
    "table": np.clip(np.round(table / scales[:, None]), -127, 127).astype(np.int8),
    "scales": scales.astype(np.float32),
    "input_weights": model.left.weight_ih_l0.detach().numpy(),
    "state_weights": model.left.weight_hh_l0.detach().numpy(),
    "input_biases": model.left.bias_ih_l0.detach().numpy(),
    "state_biases": model.left.bias_hh_l0.detach().numpy(),
    "end_weights": model.end.weight.detach().numpy()[0],
    "end_bias": model.end.bias.detach().numpy(),
}
header, at = {}, 0
# Floats first, so that their offsets are multiples of four.
names = sorted(tensors, key=lambda name: tensors[name].itemsize, reverse=True)
for name in names:
    values = tensors[name]
    kind = "I8" if values.dtype == np.int8 else "F32"
    header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
    at += values.nbytes
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(folder / "words.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    for name in names:
        out.write(np.ascontiguousarray(tensors[name]).tobytes())
for name in ["marks.onnx", "words.safetensors"]:
    print(name, (folder / name).stat().st_size)
