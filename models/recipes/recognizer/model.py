"""The recogniser: a causal streaming encoder with its own CTC and speech heads, and a full-context refiner on top.

Layout is (batch, time, channel) throughout and a convolution is a splice of shifted slices followed by Linear: on a
CPU that is about twice as fast as Conv1d, and it makes streaming state explicit. Only ReLU and BatchNorm are used,
which fold into the Linear layers for export.

Shapes: B rows, T mel frames (100 Hz, a multiple of 4), n = T / 4 encoder frames (25 Hz), E = channels.
"""
import copy

import torch
from torch import nn

MELS = 80
OUTPUTS = 71


class Spliced(nn.Module):
    """Linear over `taps` spliced inputs, then BatchNorm. After `fold()` the norm is part of the Linear."""

    def __init__(self, taps, cin, cout):
        super().__init__()
        self.linear = nn.Linear(taps * cin, cout, bias=False)
        nn.init.kaiming_normal_(self.linear.weight, nonlinearity="relu")
        self.norm = nn.BatchNorm1d(cout)

    def forward(self, slices):
        y = self.linear(torch.cat(slices, -1))
        if self.norm is None:
            return y
        return self.norm(y.reshape(-1, y.shape[-1])).reshape(y.shape)

    def fold(self):
        scale, shift = affine(self.norm)
        new = nn.Linear(self.linear.in_features, self.linear.out_features)
        new.weight.data = self.linear.weight.data * scale[:, None]
        new.bias.data = shift
        self.linear, self.norm = new, None


def affine(norm):
    """Evaluation-time BatchNorm as (scale, shift)."""
    scale = norm.weight.data / torch.sqrt(norm.running_var + norm.eps)
    return scale, norm.bias.data - norm.running_mean * scale


class Halve(Spliced):
    """Causal stride 2, 5 taps: output j sees inputs 2j-3 .. 2j+1. State: the last 3 inputs."""
    history = 3

    def forward(self, x, state):
        x = torch.cat([state.to(x.dtype), x], 1)
        slices = [x[:, 0:-4:2], x[:, 1:-3:2], x[:, 2:-2:2], x[:, 3:-1:2], x[:, 4::2]]
        return torch.relu(super().forward(slices)), x[:, -3:]


class Causal(Spliced):
    """x + ReLU(BN(conv3(x))), dilated, causal. State: the last 2 * dilation inputs."""

    def __init__(self, channels, dilation):
        super().__init__(3, channels, channels)
        self.dilation, self.history = dilation, 2 * dilation

    def forward(self, x, state):
        d = self.dilation
        p = torch.cat([state.to(x.dtype), x], 1)
        y = super().forward([p[:, :-2 * d], p[:, d:-d], p[:, 2 * d:]])
        return x + torch.relu(y), p[:, -2 * d:]


class Centred(Spliced):
    """x + ReLU(BN(conv3(x))), dilated, looking both ways; rows are zeroed outside the mask."""

    def __init__(self, channels, dilation):
        super().__init__(3, channels, channels)
        self.dilation = dilation

    def forward(self, x, mask):
        d = self.dilation
        zero = torch.zeros_like(x[:, :1]).expand(-1, d, -1)
        p = torch.cat([zero, x, zero], 1)
        y = super().forward([p[:, :-2 * d], p[:, d:-d], p[:, 2 * d:]])
        return (x + torch.relu(y)) * mask


class Recognizer(nn.Module):
    """config: channels, stem, causal (dilations), speech_after (blocks), centred (dilations)."""

    DEFAULT = dict(channels=384, stem=160, causal=[1, 2, 4, 1, 2, 4, 1, 2], speech_after=4, centred=[1, 2, 4, 8, 1])

    def __init__(self, config=None):
        super().__init__()
        self.config = c = dict(self.DEFAULT, **(config or {}))
        e = c["channels"]
        self.register_buffer("mel_mean", torch.zeros(MELS))
        self.register_buffer("mel_std", torch.ones(MELS))
        self.stem1 = Halve(5, MELS, c["stem"])
        self.stem2 = Halve(5, c["stem"], e)
        self.causal = nn.ModuleList(Causal(e, d) for d in c["causal"])
        self.out_norm = nn.BatchNorm1d(e)
        self.head = nn.Linear(e, OUTPUTS)
        self.speech_head = nn.Linear(e, 1)
        self.centred = nn.ModuleList(Centred(e, d) for d in c["centred"])
        self.full_norm = nn.BatchNorm1d(e)
        self.full_head = nn.Linear(e, OUTPUTS)

    # -------------------------------------------------------- streaming half

    def state_shapes(self):
        """(frames, channels) of every convolution's history, in order."""
        shapes = [(3, MELS), (3, self.config["stem"])]
        return shapes + [(b.history, self.config["channels"]) for b in self.causal]

    def zero_state(self, batch, like):
        return [like.new_zeros(batch, f, c) for f, c in self.state_shapes()]

    def encode(self, mel, state=None):
        """mel (B, T, 80) raw log-mel -> encoded (B, n, E), logits (B, n, 71), speech logit (B, n), next state."""
        state = state if state is not None else self.zero_state(mel.shape[0], mel)
        x = (mel - self.mel_mean) / self.mel_std
        after = []
        x, s = self.stem1(x, state[0])
        after.append(s)
        x, s = self.stem2(x, state[1])
        after.append(s)
        speech = None
        for i, block in enumerate(self.causal):
            x, s = block(x, state[2 + i])
            after.append(s)
            if i + 1 == self.config["speech_after"]:
                speech = self.speech_head(x)[..., 0]
        x = self._norm(self.out_norm, x)
        return x, self.head(x), speech, after

    # -------------------------------------------------------- full-context half

    def refine(self, encoded, mask):
        """encoded (B, n, E), mask (B, n) of 0/1 -> logits (B, n, 71). Masked rows act like the space outside
        the audio."""
        mask = mask[..., None].to(encoded.dtype)
        x = encoded * mask
        for block in self.centred:
            x = block(x, mask)
        return self.full_head(self._norm(self.full_norm, x))

    def _norm(self, norm, x):
        if isinstance(norm, nn.BatchNorm1d):
            return norm(x.reshape(-1, x.shape[-1])).reshape(x.shape)
        return x * norm[0] + norm[1]

    def folded(self):
        """Copy in evaluation mode with every BatchNorm folded away."""
        m = copy.deepcopy(self).eval().float().cpu()
        for module in m.modules():
            if isinstance(module, Spliced):
                module.fold()
        for name in ("out_norm", "full_norm"):
            pair = affine(getattr(m, name))
            delattr(m, name)
            setattr(m, name, pair)
        return m

    def left_context(self):
        """Number of encoder frames (40 ms) before the current one that can influence the streaming output."""
        # stem1 sees 3 mel frames back, stem2 3 frames of 20 ms: 9 mel frames and 400-160 samples of window.
        return 2 * sum(self.config["causal"]) + 3


def parameters(model):
    return sum(p.numel() for p in model.parameters())
