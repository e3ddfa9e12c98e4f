"""Short-time Fourier transform and its inverse as matrix products: no FFT operator exports to ONNX."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from config import HOP, N_BINS, N_FFT
import layers


class FrameTransform(nn.Module):
    """Base of vocoders that work on spectra of frames: 1024 samples, Hann, one frame per hop of 256."""

    def __init__(self):
        super().__init__()
        # The DFT of 1024 real samples by its symmetry: even part x[n] + x[N-n] meets cosines, odd part x[n] - x[N-n]
        # sines; both matrices [513, 513] are symmetric, so the same two serve the inverse. No FFT operator exports.
        n = np.arange(N_BINS)
        angle = 2.0 * math.pi * ((n[:, None] * n[None]) % N_FFT) / N_FFT
        self.register_buffer("cosine", torch.from_numpy(np.cos(angle).astype(np.float32)), persistent=False)
        self.register_buffer("sine", torch.from_numpy(np.sin(angle).astype(np.float32)), persistent=False)
        self.register_buffer("window", torch.hann_window(N_FFT), persistent=False)
        edge = np.ones(N_BINS, np.float32)
        edge[0] = edge[-1] = 0.5  # samples 0 and 512 have no mirror image
        self.register_buffer("edge", torch.from_numpy(edge), persistent=False)
        weight = np.full(N_BINS, 2.0 / N_FFT, np.float32)
        weight[0] = weight[-1] = 1.0 / N_FFT
        self.register_buffer("weight", torch.from_numpy(weight), persistent=False)

    def analyse(self, signal):
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

    def synthesize(self, real, imaginary):
        """Inverse of analyse with a second Hann window and overlap-add: [B, T, 513] twice -> [B, T*256]."""
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
