"""VITS in the shape of Piper's "high": text encoder, flow and HiFi-GAN (resblocks 1, rates 8, 8, 2, 2 from
512 channels) with its interface. Durations come from convolutions in place of the stochastic predictor, and
attention has no relative positions: both are below one per cent of the work. Symbols are long enough that
text is spoken at the pace of speech."""
import math

import torch
from torch import nn

import conformers

WIDTH, SPEAKER, HOP = 192, 512, 256
RATES, KERNELS = (8, 8, 2, 2), (16, 16, 4, 4)
# 22050 / 256 frames a second over 26 symbols: 13 phonemes, each followed by a pad.
FRAMES_PER_SYMBOL = 3.3


class Attention(conformers.Attention):
    def forward(self, x):
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        return self.mix(torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.size), value, torch.tensor(False))


class TextLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention(WIDTH, 2)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.widen, self.narrow = nn.Conv1d(WIDTH, 768, 3, padding=1), nn.Conv1d(768, WIDTH, 3, padding=1)

    def forward(self, x):
        x = self.first(x + self.attention(x))
        return self.second(x + self.narrow(torch.relu(self.widen(x.transpose(1, 2)))).transpose(1, 2))


class Coupling(nn.Module):
    """One step of the flow, run backwards; four gated convolutions conditioned on the speaker."""

    def __init__(self):
        super().__init__()
        self.before, self.after = nn.Conv1d(WIDTH // 2, WIDTH, 1), nn.Conv1d(WIDTH, WIDTH // 2, 1)
        self.speaker = nn.Conv1d(SPEAKER, 2 * WIDTH * 4, 1)
        self.gates = nn.ModuleList([nn.Conv1d(WIDTH, 2 * WIDTH, 5, padding=2) for _ in range(4)])
        self.ways = nn.ModuleList([nn.Conv1d(WIDTH, 2 * WIDTH, 1) for _ in range(4)])

    def forward(self, x, speaker):
        kept, changed = x.chunk(2, dim=1)
        h, total = self.before(kept), 0
        for gate, way, bias in zip(self.gates, self.ways, self.speaker(speaker).chunk(4, dim=1)):
            left, right = (gate(h) + bias).chunk(2, dim=1)
            residual, skip = way(torch.tanh(left) * torch.sigmoid(right)).chunk(2, dim=1)
            h, total = h + residual, total + skip
        return torch.cat([kept, changed - self.after(total)], dim=1).flip(1)


class ResidualBlock(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        def convolution(dilation):
            return nn.Conv1d(channels, channels, kernel, dilation=dilation, padding=dilation * (kernel // 2))
        self.wide = nn.ModuleList([convolution(dilation) for dilation in (1, 3, 5)])
        self.close = nn.ModuleList([convolution(1) for _ in range(3)])

    def forward(self, x):
        for wide, close in zip(self.wide, self.close):
            x = x + close(nn.functional.leaky_relu(wide(nn.functional.leaky_relu(x, 0.1)), 0.1))
        return x


class Generator(nn.Module):
    def __init__(self, channels=512):
        super().__init__()
        self.before, self.speaker = nn.Conv1d(WIDTH, channels, 7, padding=3), nn.Conv1d(SPEAKER, channels, 1)
        widths = [channels >> stage for stage in range(len(RATES) + 1)]
        self.ups = nn.ModuleList([nn.ConvTranspose1d(widths[i], widths[i + 1], kernel, rate, (kernel - rate) // 2)
                                  for i, (rate, kernel) in enumerate(zip(RATES, KERNELS))])
        self.blocks = nn.ModuleList([nn.ModuleList([ResidualBlock(width, kernel) for kernel in (3, 7, 11)])
                                     for width in widths[1:]])
        self.after = nn.Conv1d(widths[-1], 1, 7, padding=3, bias=False)
        self.gain = nn.Parameter(torch.tensor(1.0))

    def forward(self, x, speaker):
        x = self.before(x) + self.speaker(speaker)
        for up, blocks in zip(self.ups, self.blocks):
            x = up(nn.functional.leaky_relu(x, 0.1))
            x = sum(block(x) for block in blocks) / 3
        return torch.tanh(self.gain * self.after(nn.functional.leaky_relu(x)))


class Vits(nn.Module):
    def __init__(self, symbols=256, speakers=6):
        super().__init__()
        self.symbols, self.speakers = nn.Embedding(symbols, WIDTH), nn.Embedding(speakers, SPEAKER)
        self.text = nn.ModuleList([TextLayer() for _ in range(6)])
        self.prior = nn.Conv1d(WIDTH, 2 * WIDTH, 1)
        self.duration = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 3, padding=1), nn.ReLU(), nn.Conv1d(WIDTH, 1, 1))
        self.flow = nn.ModuleList([Coupling() for _ in range(4)])
        self.generator = Generator()

    def encode(self, input, input_lengths, scales, sid):
        """Latent frames [B, 192, T], a mask of ones and the speaker."""
        h = self.symbols(input)
        for layer in self.text:
            h = layer(h)
        h = h.transpose(1, 2)
        speaker = self.speakers(sid).unsqueeze(2)
        frames = FRAMES_PER_SYMBOL * torch.exp(0.1 * torch.tanh(self.duration(h)[:, 0])) * scales[1]
        ends = torch.cumsum(frames * (torch.arange(input.shape[1]) < input_lengths.unsqueeze(1)), dim=1)
        places = torch.arange(torch.ceil(ends[0, -1]).long()).unsqueeze(0)
        index = (places.unsqueeze(2) >= ends.unsqueeze(1)).sum(dim=2).clamp(max=input.shape[1] - 1)
        mean, spread = self.prior(h).chunk(2, dim=1)
        def spoken(values):
            return torch.gather(values, 2, index.unsqueeze(1).expand(-1, WIDTH, -1))
        noise = torch.randn_like(spoken(mean)) * torch.exp(0.1 * spoken(spread))
        x = spoken(mean) + scales[0] * noise
        for step in reversed(self.flow):
            x = step(x, speaker)
        return x, torch.ones_like(x[:, :1]), speaker

    def forward(self, input, input_lengths, scales, sid):
        x, _, speaker = self.encode(input, input_lengths, scales, sid)
        return self.generator(x, speaker).unsqueeze(1)


class Half(nn.Module):
    """One of the two graphs of Piper's streaming export."""

    def __init__(self, model, forward):
        super().__init__()
        self.model, self.run = model, forward

    def forward(self, *inputs):
        return self.run(*inputs)


def halves(model):
    return Half(model, model.encode), Half(model.generator, lambda z, y_mask, g: model.generator(z * y_mask, g))


def be_heard(model, inputs, loudness=0.1):
    with torch.no_grad():
        model.generator.gain.copy_(loudness / model(*inputs).std())
