"""Vocoders that the shipped one is compared with (compare_vocoders.py). All take the same inputs and cost about as much.

  harmonic    the shipped one (vocoder.py): filters for a pulse train and for noise, the first of minimum phase
  spectral    direct magnitudes, as in Vocos, with a phase added to that of the excitation, then inverse STFT
  upsampling  a generator from frames to samples in the manner of HiFi-GAN, the excitation let in at each rate as in NSF

Vocos: Siuzdak 2023. HiFi-GAN: Kong 2020. Neural source-filter models: Wang 2019."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from config import F0_MEAN, F0_SCALE, HOP, N_BINS, N_MELS
from layers import Block, Linear
from vocoder import FrameNetwork, Vocoder


class SpectralVocoder(FrameNetwork):
    """Per bin: a log magnitude, a phase added to the pulse train's, and the share of the noise's phase."""

    def __init__(self):
        super().__init__(3 * N_BINS)
        with torch.no_grad():
            self.filters.bias[:N_BINS] = -2.0
            self.filters.bias[N_BINS:] = 0.0

    def predict(self, mel, f0, voicing):
        """(log magnitude, phase in radians, share of the pulse train 0..1), each f32 [B, T, 513]."""
        logs, phase, share = self.per_frame(mel, f0, voicing).chunk(3, -1)
        return torch.clamp(logs, -14.0, 6.0), phase, torch.sigmoid(share)

    def render(self, logs, phase, share, excitation, noise):
        pulse_real, pulse_imaginary = unit(*self.analyse(excitation))
        noise_real, noise_imaginary = unit(*self.analyse(noise))
        cosine, sine = torch.cos(phase), torch.sin(phase)
        real = share * (pulse_real * cosine - pulse_imaginary * sine) + (1.0 - share) * noise_real
        imaginary = share * (pulse_real * sine + pulse_imaginary * cosine) + (1.0 - share) * noise_imaginary
        real, imaginary = unit(real, imaginary)
        level = torch.exp(logs)
        return self.synthesize(level * real, level * imaginary)


def unit(real, imaginary):
    """Complex numbers of magnitude 1 and the same phase (0 stays 0)."""
    scale = torch.rsqrt(real.square() + imaginary.square() + 1e-9)
    return real * scale, imaginary * scale


class UpsamplingVocoder(nn.Module):
    """Frames -> 8 steps a frame -> 64 steps a frame -> 4 samples a step. At both rates, a step receives the
    excitation and the noise of its own samples."""

    def __init__(self, widths=(192, 96, 32), inners=(384, 192, 64)):
        super().__init__()
        self.widths = widths
        self.inputs = Linear(N_MELS + 2, widths[0])
        self.blocks = nn.ModuleList([Block(widths[0], inners[0], 5) for _ in range(2)])
        self.slow = Linear(widths[0], 8 * widths[1])
        self.slow_source = Linear(2 * HOP // 8, widths[1], scale=0.5)
        self.slow_blocks = nn.ModuleList([Block(widths[1], inners[1], 5, dilation) for dilation in (1, 3)])
        self.fast = Linear(widths[1], 8 * widths[2])
        self.fast_source = Linear(2 * HOP // 64, widths[2], scale=0.5)
        self.fast_blocks = nn.ModuleList([Block(widths[2], inners[2], 5, dilation) for dilation in (1, 3, 9)])
        self.norm_weight = nn.Parameter(torch.ones(widths[2]))
        self.norm_bias = nn.Parameter(torch.zeros(widths[2]))
        self.outputs = Linear(widths[2], HOP // 64, scale=0.1)
        self.level = Linear(widths[1], 8)

    def predict(self, mel, f0, voicing):
        """Features per frame, f32 [B, T, 192]."""
        pitch = (torch.log(f0) - F0_MEAN) / F0_SCALE
        x = self.inputs(torch.cat([mel, pitch.unsqueeze(-1), voicing.unsqueeze(-1) * 2.0 - 1.0], -1)).float()
        return (run(self.blocks, x),)

    def forward(self, mel, f0, voicing, excitation, noise):
        """See FrameNetwork.forward."""
        return self.render(*self.predict(mel, f0, voicing), excitation, noise)

    def render(self, x, excitation, noise):
        batch = x.shape[0]
        x = self.slow(x).reshape(batch, -1, self.widths[1])
        x = run(self.slow_blocks, x + self.slow_source(patches(excitation, noise, HOP // 8)))
        # The normalisation at the end removes the loudness, so it is added here, as a logarithm per step.
        level = torch.exp(torch.clamp(self.level(x), -8.0, 3.0)).reshape(batch, -1, 1)
        x = self.fast(x).reshape(batch, -1, self.widths[2])
        x = run(self.fast_blocks, x + self.fast_source(patches(excitation, noise, HOP // 64)))
        x = F.layer_norm(x, (self.widths[2],), self.norm_weight, self.norm_bias)
        return (self.outputs(x) * level).reshape(batch, -1)


def run(blocks, x):
    ones = torch.ones_like(x[:, :, :1])
    for block in blocks:
        x = block(x, ones)
    return x


def patches(excitation, noise, samples):
    """Both signals [B, n] -> [B, n / samples, 2 samples]."""
    batch = excitation.shape[0]
    # The peaks of the pulse train are the square root of twice its harmonics, about 14, too high for a
    # network.
    return torch.cat([(0.3 * excitation).reshape(batch, -1, samples), noise.reshape(batch, -1, samples)], -1)


DESIGNS = {"harmonic": Vocoder, "spectral": SpectralVocoder, "upsampling": UpsamplingVocoder}
