"""stream.onnx and full.onnx -> one network with sherpa-onnx's offline Zipformer CTC interface, and tokens.txt.

Of its CTC interfaces, this one provides the Kaldi features that `export_nemo_ctc.py` maps to ours. An
utterance starts from zeros and passes both halves, as when our code decodes audio alone.

x [B, T, 80], x_lens [B] -> log_probs [B, T / 4, 71], log_probs_lens [B].
"""
import argparse
import os

import onnx
from onnx import TensorProto as T
from onnx import compose
from onnx import helper as h

from export_nemo_ctc import FLOOR, MELS, gains, plain, write_tokens


def needed_for(graph, outputs, given):
    """Nodes of a graph that compute some of its tensors from given others."""
    made = {o: n for n in graph.node for o in n.output if o not in given}
    found, todo = set(), list(outputs)
    while todo:
        node = made.get(todo.pop())
        if node is not None and id(node) not in found:
            found.add(id(node))
            todo.extend(node.input)
    return [n for n in graph.node if id(n) in found]


def encoder(model):
    graph = model.graph
    mel = next(n for n in graph.node if n.op_type == "Log").output[0]
    sizes = {i.name: i.type.tensor_type.shape.dim[1].dim_value for i in graph.input if i.name != "pcm"}
    numbers = lambda name, values: h.make_tensor(name, T.INT64, [len(values)], values)
    constants = [
        h.make_tensor("peer_gain", T.FLOAT, [MELS], gains()), h.make_tensor("peer_floor", T.FLOAT, [], [FLOOR]),
        numbers("peer_four", [4]), numbers("peer_zero", [0]), numbers("peer_one", [1]), numbers("peer_two", [2]),
        *(numbers(f"peer_{name}_size", [size]) for name, size in sizes.items()),
    ]
    zeros = {"state": h.make_tensor("z", T.FLOAT, [1], [0]), "history": h.make_tensor("z", T.UINT8, [1], [0])}
    before = [
        h.make_node("Shape", ["x"], ["peer_shape"]),
        h.make_node("Slice", ["peer_shape", "peer_zero", "peer_one"], ["peer_rows"]),
        h.make_node("Slice", ["peer_shape", "peer_one", "peer_two"], ["peer_frames"]),
        h.make_node("Div", ["peer_frames", "peer_four"], ["peer_steps"]),
        h.make_node("Mul", ["peer_steps", "peer_four"], ["peer_used"]),
        h.make_node("Slice", ["x", "peer_zero", "peer_used", "peer_one"], ["peer_features"]),
        h.make_node("Exp", ["peer_features"], ["peer_power"]),
        h.make_node("Mul", ["peer_power", "peer_gain"], ["peer_scaled"]),
        h.make_node("Add", ["peer_scaled", "peer_floor"], ["peer_floored"]),
        h.make_node("Log", ["peer_floored"], [mel]),
        h.make_node("Div", ["x_lens", "peer_four"], ["log_probs_lens"]),
        h.make_node("Concat", ["peer_rows", "peer_steps"], ["peer_mask_shape"], axis=0),
        h.make_node("ConstantOfShape", ["peer_mask_shape"], ["mask"], value=h.make_tensor("o", T.FLOAT, [1], [1])),
    ]
    for name in sizes:
        before += [
            h.make_node("Concat", ["peer_rows", f"peer_{name}_size"], [f"peer_{name}_shape"], axis=0),
            h.make_node("ConstantOfShape", [f"peer_{name}_shape"], [name], value=zeros[name]),
        ]
    nodes = before + needed_for(graph, ["encoded"], [mel])
    used = {i for n in nodes for i in n.input}
    value = h.make_tensor_value_info
    encoded = next(o for o in graph.output if o.name == "encoded")
    return h.make_model(
        h.make_graph(
            nodes, "peer",
            [value("x", T.FLOAT, ["B", "T", MELS]), value("x_lens", T.INT64, ["B"])],
            [encoded, value("mask", T.FLOAT, ["B", "n"]), value("log_probs_lens", T.INT64, ["B"])],
            [w for w in graph.initializer if w.name in used] + constants,
        ),
        opset_imports=model.opset_import, ir_version=8,
    )


def wrap(stream, full):
    full.ir_version = 8
    first = encoder(stream)
    second = compose.add_prefix(full, "full_")
    joined = compose.merge_models(
        first, second, io_map=[("encoded", "full_encoded"), ("mask", "full_mask")],
        outputs=["full_log_probs", "log_probs_lens"])
    # The interface relies on their order.
    in_order = sorted(joined.graph.output, key=lambda o: o.name == "log_probs_lens")
    del joined.graph.output[:]
    joined.graph.output.extend(in_order)
    h.set_model_props(joined, {"model_type": "zipformer2_ctc", "version": "1"})
    onnx.checker.check_model(joined)
    return joined


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True, help="folder of the recogniser package")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    graphs = [plain(onnx.load(os.path.join(a.model, f"{name}.onnx"))) for name in ("stream", "full")]
    onnx.save(wrap(*graphs), os.path.join(a.out, "offline.onnx"))
    write_tokens(a.model, a.out)
