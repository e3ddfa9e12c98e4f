"""Encoders of public recognisers in their published shapes: conformers with rotary positions (GigaAM) and
with relative ones (NeMo). Layers, widths, kernels and the order of operations are those of the originals,
because time and memory depend on them. Weights are torch's initial ones, so the output is meaningless."""
import math

import torch
from torch import nn

MASKED = -10000.0


class FeedForward(nn.Sequential):
    def __init__(self, width):
        super().__init__(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))


class Convolution(nn.Module):
    def __init__(self, width, kernel, norm):
        super().__init__()
        self.before = nn.LayerNorm(width)
        self.widen = nn.Conv1d(width, 2 * width, 1)
        self.depthwise = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.norm = nn.LayerNorm(width) if norm == "layer" else nn.BatchNorm1d(width)
        self.out = nn.Conv1d(width, width, 1)

    def forward(self, x, is_padding):
        x = nn.functional.glu(self.widen(self.before(x).transpose(1, 2)), dim=1)
        x = self.depthwise(x.masked_fill(is_padding.unsqueeze(1), 0.0))
        x = self.norm(x.transpose(1, 2)).transpose(1, 2) if isinstance(self.norm, nn.LayerNorm) else self.norm(x)
        return self.out(nn.functional.silu(x)).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], -1, self.heads, self.size).transpose(1, 2)

    def mix(self, scores, value, is_masked):
        weights = torch.softmax(scores.masked_fill(is_masked, MASKED), dim=-1).masked_fill(is_masked, 0.0)
        mixed = torch.matmul(weights, value).transpose(1, 2)
        return self.out(mixed.reshape(mixed.shape[0], -1, self.heads * self.size))


class RotaryAttention(Attention):
    """GigaAM rotates the input of the projections, not their output."""

    def __init__(self, width, heads, longest):
        super().__init__(width, heads)
        rates = longest ** -(torch.arange(0, self.size, 2).float() / self.size)
        angles = torch.outer(torch.arange(longest).float(), rates).repeat(1, 2).unsqueeze(1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def turn(self, x):
        x = x.view(x.shape[0], -1, self.heads, self.size)
        first, second = x.chunk(2, dim=-1)
        length = x.shape[1]
        turned = x * self.cos[:length] + torch.cat([-second, first], dim=-1) * self.sin[:length]
        return turned.reshape(x.shape[0], -1, self.heads * self.size)

    def forward(self, x, is_masked):
        turned = self.turn(x)
        query, key = self.split(self.query(turned)), self.split(self.key(turned))
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.size)
        return self.mix(scores, self.split(self.value(x)), is_masked)


class RelativeAttention(Attention):
    def __init__(self, width, heads, longest):
        super().__init__(width, heads)
        self.position = nn.Linear(width, width, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, 1, self.size))
        self.position_bias = nn.Parameter(torch.zeros(heads, 1, self.size))

    def forward(self, x, is_masked, positions):
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        position = self.split(self.position(positions))
        by_content = torch.matmul(query + self.content_bias, key.transpose(-2, -1))
        by_place = torch.matmul(query + self.position_bias, position.transpose(-2, -1))
        # Shift every row by one place more than the row above it.
        rows, places = by_place.shape[2], by_place.shape[3]
        shifted = nn.functional.pad(by_place, (1, 0)).view(x.shape[0], self.heads, -1, rows)[:, :, 1:]
        shifted = shifted.reshape(x.shape[0], self.heads, rows, places)[:, :, :, :by_content.shape[3]]
        return self.mix((by_content + shifted) / math.sqrt(self.size), value, is_masked)


class Layer(nn.Module):
    def __init__(self, width, heads, kernel, norm, attention, longest):
        super().__init__()
        self.first, self.second = FeedForward(width), FeedForward(width)
        self.before = nn.LayerNorm(width)
        self.attention = attention(width, heads, longest)
        self.convolution = Convolution(width, kernel, norm)
        self.after = nn.LayerNorm(width)

    def forward(self, x, is_padding, is_masked, *positions):
        x = x + 0.5 * self.first(x)
        x = x + self.attention(self.before(x), is_masked, *positions)
        x = x + self.convolution(x, is_padding)
        return self.after(x + 0.5 * self.second(x))


class Recognizer(nn.Module):
    """features [B, bins, T], lengths [B]; log-probs [B, T / subsampling, outputs]."""

    def __init__(self, width, outputs, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.head = nn.Conv1d(width, outputs, 1)

    def encode(self, features, lengths):
        x, lengths = self.subsample(features, lengths)
        is_padding = torch.arange(x.shape[1]).unsqueeze(0) >= lengths.unsqueeze(1)
        is_masked = (is_padding.unsqueeze(1) | is_padding.unsqueeze(2)).unsqueeze(1)
        positions = self.positions(x)
        for layer in self.layers:
            x = layer(x, is_padding, is_masked, *positions)
        return x

    def positions(self, x):
        return ()

    def forward(self, features, lengths):
        encoded = self.encode(features, lengths)
        return torch.log_softmax(self.head(encoded.transpose(1, 2)).transpose(1, 2), dim=-1)


class GigaAm(Recognizer):
    """`v3_ctc` and `multilingual_ctc`: 16 layers, 768 wide, 16 heads, kernel 5, two strided convolutions of kernel 5; 221 M weights.
    Source: gigaam/encoder.py of salute-developers/GigaAM at 12cdc8d, and the settings that readers of its checkpoints repeat."""

    def __init__(self, outputs=71, bins=64, width=768, heads=16, count=16, longest=5000):
        super().__init__(width, outputs, [Layer(width, heads, 5, "layer", RotaryAttention, longest) for _ in range(count)])
        self.convolutions = nn.ModuleList([nn.Conv1d(bins, width, 5, 2, 2), nn.Conv1d(width, width, 5, 2, 2)])

    def subsample(self, x, lengths):
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
            lengths = (lengths - 1) // 2 + 1
        return x.transpose(1, 2), lengths


class FastConformer(Recognizer):
    """FastConformer large: 17 layers, 512 wide, 8 heads, kernel 9, depthwise subsampling by 8 with 256
    channels; 109 M weights apart from its transducer. Source: NeMo's fast-conformer_ctc_bpe.yaml."""

    def __init__(self, outputs=1025, bins=80, width=512, heads=8, count=17, longest=5000, channels=256):
        super().__init__(width, outputs, [Layer(width, heads, 9, "batch", RelativeAttention, longest) for _ in range(count)])
        self.first = nn.Conv2d(1, channels, 3, 2, 1)
        self.rest = nn.ModuleList([nn.Sequential(nn.Conv2d(channels, channels, 3, 2, 1, groups=channels),
                                                 nn.Conv2d(channels, channels, 1)) for _ in range(2)])
        self.out = nn.Linear(channels * math.ceil(bins / 8), width)
        self.scale = math.sqrt(width)
        places = torch.arange(longest - 1, -longest, -1).float().unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * -(math.log(10000.0) / width))
        table = torch.stack([torch.sin(places * rates), torch.cos(places * rates)], dim=2).flatten(1)
        self.register_buffer("table", table.unsqueeze(0))
        self.longest = longest

    def positions(self, x):
        return (self.table[:, self.longest - x.shape[1]:self.longest + x.shape[1] - 1],)

    def subsample(self, x, lengths):
        x = torch.relu(self.first(x.transpose(1, 2).unsqueeze(1)))
        for stage in self.rest:
            x = torch.relu(stage(x))
        for _ in range(3):
            lengths = (lengths - 1) // 2 + 1
        x = self.out(x.transpose(1, 2).flatten(2))
        return x * self.scale, lengths


def speak_like(model, features, share, spread=8.0):
    """Sets the head so that on these features `share` of the rows are not blank (the last output), with the
    certainty of a trained head. Otherwise every row would be nearly uniform, which costs a search more than
    any trained model does."""
    with torch.no_grad():
        encoded = model.encode(features, torch.tensor([features.shape[2]]))[0]
        weight = torch.randn(model.head.out_channels, encoded.shape[1])
        mean = encoded.mean(dim=0)
        rows = (encoded - mean) @ weight.T
        weight *= spread / rows.std()
        rows = (encoded - mean) @ weight.T
        lead = rows[:, :-1].max(dim=1).values - rows[:, -1]
        bias = -(weight @ mean)
        bias[-1] += torch.quantile(lead, 1 - share)
        model.head.weight.copy_(weight.unsqueeze(2))
        model.head.bias.copy_(bias)
