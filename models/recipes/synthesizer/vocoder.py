"""The vocoder: filters a pulse train and white noise frame by frame (harmonic plus noise).

features (80 mel, F0, voicing) -> conv blocks -> log magnitudes of two filters per frame. The harmonic filter is minimum
phase, which makes its impulse responses look like those of a vocal tract; phase = log magnitude @ fixed matrices."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from config import F0_MEAN, F0_SCALE, N_BINS, N_MELS
from frame_transform import FrameTransform
from layers import Block, Linear


class FrameNetwork(FrameTransform):
    """Features -> `outputs` numbers per frame: a linear layer, convolution blocks, a normalisation, a linear layer."""

    def __init__(self, outputs, width=192, inner=384, blocks=4):
        super().__init__()
        self.width = width
        self.inputs = Linear(N_MELS + 2, width)
        self.blocks = nn.ModuleList([Block(width, inner, 5) for _ in range(blocks)])
        self.norm_weight = nn.Parameter(torch.ones(width))
        self.norm_bias = nn.Parameter(torch.zeros(width))
        self.filters = Linear(width, outputs, scale=0.3)

    def per_frame(self, mel, f0, voicing):
        """f32 [B, T, outputs], bins in the order of FrameTransform."""
        pitch = (torch.log(f0) - F0_MEAN) / F0_SCALE
        x = self.inputs(torch.cat([mel, pitch.unsqueeze(-1), voicing.unsqueeze(-1) * 2.0 - 1.0], -1)).float()
        # Nothing exists beyond both ends: the convolution's zeros represent it.
        ones = torch.ones_like(x[:, :, :1])
        for block in self.blocks:
            x = block(x, ones)
        x = F.layer_norm(x, (self.width,), self.norm_weight, self.norm_bias)
        return self.ordered(self.filters(x).float())

    def forward(self, mel, f0, voicing, excitation, noise):
        """mel f32 [B,T,80] normalised, f0 f32 [B,T] Hz, voicing f32 [B,T] 0..1, excitation and noise f32 [B,T*256]
        -> pcm f32 [B,T*256] at 24 kHz (about 0.1 RMS; the engine clips)."""
        return self.render(*self.predict(mel, f0, voicing), excitation, noise)


class Vocoder(FrameNetwork):
    """Stateless: an output frame depends on 10 frames of features and 4 frames of excitation each side."""

    def __init__(self):
        super().__init__(2 * N_BINS)
        with torch.no_grad():
            self.filters.bias[:N_BINS] = -4.0
            self.filters.bias[N_BINS:] = -6.0

    def predict(self, mel, f0, voicing):
        """Log magnitudes (harmonic, noise), each f32 [B, T, 513]."""
        logs = torch.clamp(self.per_frame(mel, f0, voicing), -14.0, 6.0)
        return logs[:, :, :N_BINS], logs[:, :, N_BINS:]

    def render(self, harmonic, hiss, excitation, noise):
        """Filters the excitation: log magnitudes [B,T,513], excitation and noise [B,T*256] -> pcm [B,T*256]."""
        angle = self.minimum_phase(harmonic)
        gain = torch.exp(harmonic)
        real, imaginary = gain * torch.cos(angle), gain * torch.sin(angle)
        pulse_real, pulse_imaginary = self.analyse(excitation)
        noise_real, noise_imaginary = self.analyse(noise)
        level = torch.exp(hiss)
        out_real = pulse_real * real - pulse_imaginary * imaginary + noise_real * level
        out_imaginary = pulse_real * imaginary + pulse_imaginary * real + noise_imaginary * level
        return self.synthesize(out_real, out_imaginary)
