"""joiner.onnx -> the same with doubled logits, because sherpa-onnx halves logits before it reports log-probs.
"""
import argparse

import onnx
from onnx import TensorProto, helper


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    model = onnx.load(options.model)
    graph = model.graph
    for node in graph.node:
        for index, name in enumerate(node.output):
            if name == "logit":
                node.output[index] = "single_logit"
    graph.initializer.append(helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]))
    graph.node.append(helper.make_node("Mul", ["single_logit", "two"], ["logit"], "double"))
    onnx.save(model, options.out)


if __name__ == "__main__":
    main()
