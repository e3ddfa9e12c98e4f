"""Streaming encoders in the shapes of public ones, with their caches as inputs and outputs of each chunk:
T-one (a conformer for 8 kHz) and the small streaming zipformer of Vosk, here as a conformer with as many
weights and operations per second. The output is meaningless; layers, widths, chunk and state determine time
and memory."""
import math

import numpy
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn



class Expanded(nn.Sequential):
    def __init__(self, width, times):
        super().__init__(nn.LayerNorm(width), nn.Linear(width, times * width), nn.SiLU(), nn.Linear(times * width, width))


class StreamingLayer(nn.Module):
    """A conformer layer over one chunk, with the earlier frames that its attention and its convolution see.
    """

    def __init__(self, width, heads, kernel, times, seen):
        super().__init__()
        self.heads, self.size, self.kernel, self.seen = heads, width // heads, kernel, seen
        self.first, self.second = Expanded(width, times), Expanded(width, times)
        self.before, self.after, self.inside = (nn.LayerNorm(width) for _ in range(3))
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.widen = nn.Linear(width, 2 * width)
        self.depthwise = nn.Conv1d(width, width, kernel, groups=width)
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, self.size).transpose(1, 2)

    def forward(self, x, attended, convolved):
        x = x + 0.5 * self.first(x)
        y = self.before(x)
        context = y if attended is None else torch.cat([attended, y], dim=1)
        scores = torch.matmul(self.split(self.query(y)), self.split(self.key(context)).transpose(-2, -1)) / math.sqrt(self.size)
        mixed = torch.matmul(torch.softmax(scores, dim=-1), self.split(self.value(context))).transpose(1, 2)
        x = x + self.out(mixed.reshape(x.shape[0], -1, self.heads * self.size))
        y = torch.cat([convolved, nn.functional.glu(self.widen(self.inside(x))).transpose(1, 2)], dim=2)
        x = x + self.last(nn.functional.silu(self.norm(self.depthwise(y).transpose(1, 2))))
        attended = None if attended is None else context[:, -self.seen:]
        return self.after(x + 0.5 * self.second(x)), attended, y[:, :, 1 - self.kernel:]


class TOne(nn.Module):
    """16 layers of 384 with feed-forwards of 6 times that, kernel 31, of which layers 7 to 14 run at half the
    rate; the last two attend to 30 frames before the chunk; two convolutions of 32 channels precede them; 71
    M weights. State: 219,729 halves. Source: tone/nn of voicekit-team/T-one, its published config.json, and
    the length of its state."""
    CHUNK, ROWS, STATE, WIDTH, KERNEL, SEEN, HALF = 2400, 10, 219_729, 384, 31, 30, range(7, 15)

    def __init__(self, outputs=35):
        super().__init__()
        self.spectra = nn.Conv1d(1, 162, 160, 80, bias=False)
        self.register_buffer("mel", torch.rand(64, 81))
        self.first, self.second = nn.Conv2d(1, 32, (11, 21)), nn.Conv2d(32, 32, (11, 11), (3, 1))
        self.embed = nn.Linear(32 * 34, self.WIDTH)
        self.layers = nn.ModuleList([StreamingLayer(self.WIDTH, 8, self.KERNEL, 6, self.SEEN) for _ in range(16)])
        self.reduce = nn.Conv1d(self.WIDTH, self.WIDTH, 2, 2)
        self.head = nn.Linear(self.WIDTH, outputs)

    def encode(self, signal, state):
        at = [1]

        def take(*shape):
            size = math.prod(shape)
            at[0] += size
            return state[:, at[0] - size:at[0]].to(torch.float32).reshape(-1, *shape)
        audio = torch.cat([take(80), signal[:, :, 0].to(torch.float32) / 32767], dim=1)
        power = (self.spectra(audio.unsqueeze(1)) ** 2).view(-1, 2, 81, 30).sum(dim=1)
        x = torch.log(torch.matmul(self.mel, power) + 2 ** -24).transpose(1, 2)
        kept = [audio[:, -80:]]
        x = torch.cat([take(10, 64), x], dim=1)
        kept.append(x[:, -10:])
        x = torch.cat([take(32, 8, 44), nn.functional.silu(self.first(x.unsqueeze(1)))], dim=2)
        kept.append(x[:, :, -8:])
        x = self.embed(nn.functional.silu(self.second(x)).transpose(1, 2).flatten(2))
        for number, layer in enumerate(self.layers):
            if number == self.HALF.start:
                kept.append(take(self.WIDTH).unsqueeze(1) * 0 + x[:, -1:])
                full, x = x, self.reduce(x.transpose(1, 2)).transpose(1, 2)
            if number == self.HALF.stop:
                x = x.repeat_interleave(2, dim=1) + full
            attended = take(self.SEEN, self.WIDTH) if number >= 14 else None
            x, attended, convolved = layer(x, attended, take(self.WIDTH, self.KERNEL - 1))
            kept += [part for part in (attended, convolved) if part is not None]
        count = state[:, :1] + 1
        return x, torch.cat([count, *[part.flatten(1).to(torch.float16) for part in kept]], dim=1)

    def forward(self, signal, state):
        x, following = self.encode(signal, state)
        return torch.log_softmax(self.head(x), dim=-1), following


class SmallZipformer(nn.Module):
    """Interface of a streaming zipformer transducer's encoder, chunks of 64 frames: 12 conformer layers of 256 over 32 frames of 20 ms,
    22 M weights, as many as `vosk-model-small-streaming-ru` has; each layer attends to 64 frames before the chunk."""
    CHUNK, WINDOW, WIDTH, KERNEL, SEEN, OUT = 64, 77, 256, 31, 64, 512

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 128, (3, 3), (1, 2)), nn.Conv2d(128, 128, (3, 3), (2, 2))
        self.embed = nn.Linear(128 * 19, self.WIDTH)
        self.layers = nn.ModuleList([StreamingLayer(self.WIDTH, 4, self.KERNEL, 4, self.SEEN) for _ in range(12)])
        self.out = nn.Linear(2 * self.WIDTH, self.OUT)

    def shapes(self):
        shapes = {}
        for number in range(len(self.layers)):
            shapes[f"cached_key_{number}"] = (self.SEEN, 1, self.WIDTH)
            shapes[f"cached_conv1_{number}"] = (1, self.WIDTH, self.KERNEL - 1)
        return {**shapes, "embed_states": (1, 128, 3, 19)}

    def forward(self, x, *states):
        processed, embed = states[-1], states[-2]
        x = nn.functional.silu(self.second(nn.functional.silu(self.first(x.unsqueeze(1)))))
        following = x[:, :, -3:] + 0 * embed
        x = self.embed(x.transpose(1, 2).flatten(2))[:, :self.CHUNK // 2]
        written = []
        for number, layer in enumerate(self.layers):
            x, attended, convolved = layer(x, states[2 * number].transpose(0, 1), states[2 * number + 1])
            written += [attended.transpose(0, 1), convolved]
        x = self.out(x.reshape(x.shape[0], self.CHUNK // 4, 2 * self.WIDTH))
        return (x, *written, following, processed + self.CHUNK // 2)


class StatelessDecoder(nn.Module):
    def __init__(self, outputs=500, width=512, context=2):
        super().__init__()
        self.embedding = nn.Embedding(outputs, width)
        self.context = nn.Conv1d(width, width, context, groups=width // 4, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, y):
        embedded = self.embedding(y.clamp(min=0)) * (y >= 0).unsqueeze(-1)
        return self.out(torch.relu(self.context(embedded.transpose(1, 2)).squeeze(-1)))


class Joiner(nn.Module):
    def __init__(self, outputs=500, width=512):
        super().__init__()
        self.out = nn.Linear(width, outputs)

    def forward(self, encoder_out, decoder_out):
        return self.out(torch.tanh(encoder_out + decoder_out))


def to_half(path):
    """Stores the weights of products in half precision and computes these products in it, like an export
    under autocast: a runtime without such products converts weights back once, and activations every time."""
    model = onnx.load(path)
    graph = model.graph
    weights = {weight.name: weight for weight in graph.initializer}
    nodes = []
    for node in graph.node:
        is_product = node.op_type in ("MatMul", "Gemm", "Conv") and any(name in weights for name in node.input)
        if not is_product:
            nodes.append(node)
            continue
        for index, name in enumerate(node.input):
            half = f"{name}_half"
            if name in weights:
                values = numpy_helper.to_array(weights[name])
                if values.dtype == numpy.float32:
                    weights[name].CopyFrom(numpy_helper.from_array(values.astype(numpy.float16), name))
            elif name:
                half = f"{node.name}_{index}_half"
                nodes.append(helper.make_node("Cast", [name], [half], f"{half}_cast", to=TensorProto.FLOAT16))
                node.input[index] = half
        result = node.output[0]
        node.output[0] = f"{result}_half"
        nodes += [node, helper.make_node("Cast", [node.output[0]], [result], f"{result}_cast", to=TensorProto.FLOAT)]
    del graph.node[:]
    graph.node.extend(nodes)
    onnx.save(model, path)


def fix_output_dims(path, dims):
    model = onnx.load(path)
    for output in model.graph.output:
        for axis, size in dims.get(output.name, {}).items():
            output.type.tensor_type.shape.dim[axis].dim_value = size
    onnx.save(model, path)
