"""The interfaces of pyannote's segmentation-3.0 and of a 3D-Speaker embedding, as sherpa-onnx exports them,
with its metadata. The weights are random, but the filters react to three tones, so that the tiny graphs
detect three "speakers" (300, 900 and 2,500 Hz) and their overlaps. Requires python3-onnx and python3-numpy.
"""
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from tiny_files import FIXTURES, SEED, write_manifest

PACKAGE = "tiny-pyannote"
RATE, WINDOW, FRAMES, CLASSES = 16_000, 160_000, 589, 7
TONES = [300, 900, 2_500]
WIDTH = 6
PAIRS = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
BINS, DIMENSIONS = 80, 24


def save(file, nodes, weights, given, answer, metadata):
    tensors = [numpy_helper.from_array(value.astype(numpy.float32), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "tiny", [helper.make_tensor_value_info(given[0], TensorProto.FLOAT, given[1])],
                              [helper.make_tensor_value_info(answer[0], TensorProto.FLOAT, answer[1])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=str(value))
    onnx.checker.check_model(model)
    path = os.path.join(FIXTURES, PACKAGE, file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    onnx.save(model, path)
    assert os.path.getsize(path) < 100_000


def tone_filters(random):
    """Cosine and sine of each tone under a window: their rectified outputs follow its loudness."""
    t = numpy.arange(251)
    window = numpy.hanning(251)
    filters = [f(2 * numpy.pi * hz * t / RATE) * window / 60 for hz in TONES for f in (numpy.cos, numpy.sin)]
    return numpy.stack(filters)[:, None] + 0.0005 * random.standard_normal((WIDTH, 1, 251))


def smoothing(random, width):
    """Averages five rows of each channel, and mixes in some of the others."""
    own = numpy.eye(width)[:, :, None].repeat(5, 2) / 5
    return own + 0.01 * random.standard_normal((width, width, 5))


def segmentation(random):
    """SincNet's strides: 160,000 samples make 589 frames, 270 samples apart."""
    # A tone is active from a loudness of 0.1 on: a class's score sums how far its tones are above it and the
    # others below.
    scores = numpy.zeros((WIDTH, CLASSES))
    bias = numpy.zeros(CLASSES)
    for index, active in enumerate(PAIRS):
        for tone in range(3):
            sign = 1 if tone in active else -1
            scores[2 * tone:2 * tone + 2, index] = 10 * sign
            bias[index] -= 2 * sign
    weights = {"sinc": tone_filters(random), "conv1": smoothing(random, WIDTH), "conv2": smoothing(random, WIDTH),
               "scores": scores + 0.2 * random.standard_normal(scores.shape), "bias": bias}
    nodes = [
        helper.make_node("Conv", ["x", "sinc"], ["c0"], strides=[10]), helper.make_node("Abs", ["c0"], ["a0"]),
        helper.make_node("MaxPool", ["a0"], ["p0"], kernel_shape=[3], strides=[3]),
        helper.make_node("Conv", ["p0", "conv1"], ["c1"]), helper.make_node("LeakyRelu", ["c1"], ["a1"]),
        helper.make_node("MaxPool", ["a1"], ["p1"], kernel_shape=[3], strides=[3]),
        helper.make_node("Conv", ["p1", "conv2"], ["c2"]), helper.make_node("LeakyRelu", ["c2"], ["a2"]),
        helper.make_node("MaxPool", ["a2"], ["p2"], kernel_shape=[3], strides=[3]),
        helper.make_node("Transpose", ["p2"], ["t"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["t", "scores"], ["m"]), helper.make_node("Add", ["m", "bias"], ["s"]),
        helper.make_node("LogSoftmax", ["s"], ["y"], axis=-1),
    ]
    save("segmentation.onnx", nodes, weights, ("x", ["N", 1, "T"]), ("y", ["N", "T_out", CLASSES]),
         {"num_speakers": 3, "powerset_max_classes": 2, "num_classes": CLASSES, "sample_rate": RATE, "window_size": WINDOW,
          "receptive_field_size": 991, "receptive_field_shift": 270, "model_type": "pyannote-segmentation-3.0", "version": "1"})


def embedding(random):
    """The mean over time of rectified features, which are zero on average, then a projection without the part
    that all bands share."""
    project = random.standard_normal((BINS, DIMENSIONS))
    weights = {"project": project - project.mean(0)}
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]), helper.make_node("ReduceMean", ["r"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "project"], ["embedding"]),
    ]
    save("embedding.onnx", nodes, weights, ("x", ["N", "T", BINS]), ("embedding", ["N", DIMENSIONS]),
         {"framework": "3d-speaker", "language": "none", "url": "none", "comment": "random weights", "sample_rate": RATE,
          "output_dim": DIMENSIONS, "normalize_samples": 1, "feature_normalize_type": "global-mean"})


def main():
    random = numpy.random.default_rng(SEED)
    segmentation(random)
    embedding(random)
    write_manifest(PACKAGE, {"task": "diarization", "family": "pyannote", "languages": ["kk", "ru"], "sampleRateHz": RATE},
                   {"segmentation": "segmentation.onnx", "embedding": "embedding.onnx"})


if __name__ == "__main__":
    main()
