"""The vocoder: filters a pulse train and white noise frame by frame (harmonic plus noise).

features (80 mel, F0, voicing) -> conv blocks -> log magnitudes of two filters per frame. The harmonic filter is minimum
phase, which makes its impulse responses look like those of a vocal tract; phase = log magnitude @ fixed matrix."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from config import F0_MEAN, F0_SCALE, HOP, N_BINS, N_FFT, N_MELS
import layers
from layers import Block, Linear


def minimum_phase_matrix():
    """f32 [513, 513]: log magnitude of bins (row vector) @ matrix = minimum phase in radians (folded cepstrum)."""
    identity = np.eye(N_BINS)
    cepstrum = np.fft.irfft(identity, N_FFT, axis=1)
    fold = np.zeros(N_FFT)
    fold[0] = fold[N_FFT // 2] = 1.0
    fold[1:N_FFT // 2] = 2.0
    return np.fft.rfft(cepstrum * fold, axis=1).imag.astype(np.float32)


class Vocoder(nn.Module):
    """Stateless: an output frame depends on 10 frames of features and 4 frames of excitation each side."""

    def __init__(self, width=192, inner=384, blocks=4):
        super().__init__()
        self.width = width
        self.inputs = Linear(N_MELS + 2, width)
        self.blocks = nn.ModuleList([Block(width, inner, 5) for _ in range(blocks)])
        self.norm_weight = nn.Parameter(torch.ones(width))
        self.norm_bias = nn.Parameter(torch.zeros(width))
        self.filters = Linear(width, 2 * N_BINS, scale=0.3)
        with torch.no_grad():
            self.filters.bias[:N_BINS] = -4.0
            self.filters.bias[N_BINS:] = -6.0
        # The DFT of 1024 real samples by its symmetry: even part x[n] + x[N-n] meets cosines, odd part x[n] - x[N-n]
        # sines; both matrices [513, 513] are symmetric, so the same two serve the inverse. No FFT operator exports.
        n = np.arange(N_BINS)
        angle = 2.0 * math.pi * ((n[:, None] * n[None]) % N_FFT) / N_FFT
        self.register_buffer("cosine", torch.from_numpy(np.cos(angle).astype(np.float32)), persistent=False)
        self.register_buffer("sine", torch.from_numpy(np.sin(angle).astype(np.float32)), persistent=False)
        self.register_buffer("phase", torch.from_numpy(minimum_phase_matrix()), persistent=False)
        self.register_buffer("window", torch.hann_window(N_FFT), persistent=False)
        edge = np.ones(N_BINS, np.float32)
        edge[0] = edge[-1] = 0.5  # samples 0 and 512 have no mirror image
        self.register_buffer("edge", torch.from_numpy(edge), persistent=False)
        weight = np.full(N_BINS, 2.0 / N_FFT, np.float32)
        weight[0] = weight[-1] = 1.0 / N_FFT
        self.register_buffer("weight", torch.from_numpy(weight), persistent=False)

    def _analyse(self, signal):
        """[B, T*256] -> real and imaginary part [B, T, 513] of Hann-windowed frames centred on each hop."""
        batch = signal.shape[0]
        hops = F.pad(signal, (2 * HOP - HOP // 2, 2 * HOP - HOP // 2)).reshape(batch, -1, HOP)  # T + 3 hops
        block = torch.cat([hops[:, i:i - 3 or None] for i in range(4)], -1) * self.window
        if not layers.EXPORT:  # the same by FFT, for training
            spectrum = torch.fft.rfft(block)
            return spectrum.real, spectrum.imag
        half = block[:, :, :N_BINS]
        mirrored = torch.cat([block[:, :, :1], torch.flip(block[:, :, N_FFT // 2:], [2])], -1)
        # mirrored[n] = x[(N - n) mod N] for n = 0..512
        return torch.matmul((half + mirrored) * self.edge, self.cosine), torch.matmul(mirrored - half, self.sine)

    def _synthesize(self, real, imaginary):
        """Inverse of _analyse with a second Hann window and overlap-add: [B, T, 513] twice -> [B, T*256]."""
        if layers.EXPORT:
            even = torch.matmul(real * self.weight, self.cosine)
            odd = torch.matmul(imaginary * self.weight, self.sine)
            first = even - odd  # samples 0..512
            second = even + odd  # samples N - n
            block = torch.cat([first, torch.flip(second[:, :, 1:N_FFT // 2], [2])], -1)
        else:
            block = torch.fft.irfft(torch.complex(real, imaginary), N_FFT)
        block = block * self.window
        total = 0.0
        for i in range(4):
            total = total + F.pad(block[:, :, i * HOP:(i + 1) * HOP], (0, 0, i, 3 - i))
        flat = total.reshape(real.shape[0], -1) / 1.5  # four squared Hann windows sum to 1.5
        return flat[:, 2 * HOP - HOP // 2:-(2 * HOP - HOP // 2)]

    def filter_bank(self, mel, f0, voicing):
        """Log magnitudes (harmonic, noise), each f32 [B, T, 513]."""
        pitch = (torch.log(f0) - F0_MEAN) / F0_SCALE
        x = self.inputs(torch.cat([mel, pitch.unsqueeze(-1), voicing.unsqueeze(-1) * 2.0 - 1.0], -1)).float()
        # Beyond both ends there is nothing: the convolution's zeros stand for it.
        ones = torch.ones_like(x[:, :, :1])
        for block in self.blocks:
            x = block(x, ones)
        x = F.layer_norm(x, (self.width,), self.norm_weight, self.norm_bias)
        logs = torch.clamp(self.filters(x).float(), -14.0, 6.0)
        return logs[:, :, :N_BINS], logs[:, :, N_BINS:]

    def forward(self, mel, f0, voicing, excitation, noise):
        """mel f32 [B,T,80] normalised, f0 f32 [B,T] Hz, voicing f32 [B,T] 0..1, excitation and noise f32 [B,T*256]
        -> pcm f32 [B,T*256] at 24 kHz (about 0.1 RMS; the engine clips)."""
        return self.render(*self.filter_bank(mel, f0, voicing), excitation, noise)

    def render(self, harmonic, hiss, excitation, noise):
        """Filters the excitation: log magnitudes [B,T,513], excitation and noise [B,T*256] -> pcm [B,T*256]."""
        angle = torch.matmul(harmonic, self.phase)
        gain = torch.exp(harmonic)
        real, imaginary = gain * torch.cos(angle), gain * torch.sin(angle)
        pulse_real, pulse_imaginary = self._analyse(excitation)
        noise_real, noise_imaginary = self._analyse(noise)
        level = torch.exp(hiss)
        out_real = pulse_real * real - pulse_imaginary * imaginary + noise_real * level
        out_imaginary = pulse_real * imaginary + pulse_imaginary * real + noise_imaginary * level
        return self._synthesize(out_real, out_imaginary)
