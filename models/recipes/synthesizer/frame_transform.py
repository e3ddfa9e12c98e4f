"""Short-time Fourier transform and its inverse as matrix products: no FFT operator exports to ONNX."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from config import HOP, N_BINS, N_FFT
import fixed_transforms
import layers

QUARTER = N_FFT // 4 + 1  # samples 0..256


class FrameTransform(nn.Module):
    """Base of vocoders that work on spectra of frames: 1024 samples, Hann, one frame per hop of 256.

    The exported form folds a frame twice before it is multiplied. Its even part x[n] + x[N-n] is multiplied
    with cosines, its odd part with sines; each is split by its symmetry around sample 256, which separates
    bins 0, 2, .. 512 from bins 1, 3, .. 511: four products with matrices of 257 rows, a quarter of the
    arithmetic of one with cosines and sines. In that form bins are kept in this order, even ones first
    (`ordered`)."""

    def __init__(self):
        super().__init__()
        for name, matrix in fixed_transforms.matrices().items():
            self.register_buffer(name, torch.from_numpy(matrix), persistent=False)
        self.register_buffer("window", torch.hann_window(N_FFT), persistent=False)
        # Four squared Hann windows sum to 1.5.
        self.register_buffer("last_window", torch.hann_window(N_FFT) * (2.0 / N_FFT / 1.5), persistent=False)

    def ordered(self, bins):
        """[B, T, 513 k] in order of frequency -> each 513 in the order that the other functions use."""
        if not layers.EXPORT:
            return bins
        starts = range(0, bins.shape[-1], N_BINS)
        return torch.cat([bins[:, :, start + first:start + N_BINS:2] for start in starts for first in (0, 1)], -1)

    def analyse(self, signal):
        """[B, T*256] -> real and imaginary part [B, T, 513] of Hann-windowed frames centred on each hop."""
        batch = signal.shape[0]
        hops = F.pad(signal, (2 * HOP - HOP // 2, 2 * HOP - HOP // 2)).reshape(batch, -1, HOP)  # T + 3 hops
        block = torch.cat([hops[:, i:i - 3 or None] for i in range(4)], -1) * self.window
        if not layers.EXPORT:  # the same by FFT, for training
            spectrum = torch.fft.rfft(block)
            return spectrum.real, spectrum.imag
        # Samples n, 512 - n, 512 + n and N - n for n = 0..256. The window makes sample 0, and so sample N, zero.
        first, third = block[:, :, :QUARTER], block[:, :, 2 * HOP:2 * HOP + QUARTER]
        second = torch.flip(block[:, :, HOP:2 * HOP + 1], [2])
        fourth = torch.flip(torch.cat([block[:, :, 3 * HOP:], block[:, :, :1]], -1), [2])
        even, even_mirror = first + fourth, second + third
        odd, odd_mirror = fourth - first, third - second
        real = [torch.matmul(even + even_mirror, self.cosine_even), torch.matmul(even - even_mirror, self.cosine_odd)]
        imaginary = [torch.matmul(odd - odd_mirror, self.sine_even), torch.matmul(odd + odd_mirror, self.sine_odd)]
        return torch.cat(real, -1), torch.cat(imaginary, -1)

    def synthesize(self, real, imaginary):
        """Inverse of analyse with a second Hann window and overlap-add: [B, T, 513] twice -> [B, T*256]."""
        if layers.EXPORT:
            a = torch.matmul(real[:, :, :QUARTER], self.cosine_even)
            b = torch.matmul(real[:, :, QUARTER:], self.cosine_odd_back)
            c = torch.matmul(imaginary[:, :, :QUARTER], self.sine_even)
            d = torch.matmul(imaginary[:, :, QUARTER:], self.sine_odd_back)
            cosines, sines, cosines_mirror, sines_mirror = a + b, c + d, a - b, d - c
            # Uses the same samples as above.
            first, second = cosines - sines, cosines_mirror - sines_mirror
            third, fourth = cosines_mirror + sines_mirror, cosines + sines
            block = torch.cat([first, torch.flip(second[:, :, :-1], [2]), third[:, :, 1:-1], torch.flip(fourth[:, :, 1:], [2])], -1)
            block = block * self.last_window
        else:
            block = torch.fft.irfft(torch.complex(real, imaginary), N_FFT) * self.window / 1.5
        total = 0.0
        for i in range(4):
            total = total + F.pad(block[:, :, i * HOP:(i + 1) * HOP], (0, 0, i, 3 - i))
        flat = total.reshape(real.shape[0], -1)
        return flat[:, 2 * HOP - HOP // 2:-(2 * HOP - HOP // 2)]

    def minimum_phase(self, logs):
        """Minimum phase in radians of log magnitudes [B, T, 513]: the folded cepstrum. A bin's phase depends
        only on the bins at an odd distance."""
        if not layers.EXPORT:
            even, odd = logs[:, :, ::2], logs[:, :, 1::2]
            parts = torch.matmul(odd, self.phase_even), torch.matmul(even, self.phase_odd)
            padded = torch.cat([parts[1], torch.zeros_like(parts[1][:, :, :1])], -1)
            return torch.stack([parts[0], padded], -1).flatten(-2)[:, :, :N_BINS]
        even, odd = logs[:, :, :QUARTER], logs[:, :, QUARTER:]
        return torch.cat([torch.matmul(odd, self.phase_even), torch.matmul(even, self.phase_odd)], -1)
