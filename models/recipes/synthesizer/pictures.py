"""Spectrograms as PNG files: black is loud, 0 Hz at the bottom."""

import numpy as np
from PIL import Image, ImageDraw

from config import SAMPLE_RATE

FFT = 2048
RANGE_DB = 70.0
TOP_DB = 28.0


def spectrogram(pcm, window, columns, height, top_hz):
    """u8 [height, columns], 255 is silence. A window of 1024 samples shows harmonics, one of 256 bursts and pulses."""
    padded = np.pad(pcm, (window // 2, window))
    starts = np.linspace(0, len(pcm), columns, endpoint=False).astype(int)
    frames = np.stack([padded[start:start + window] for start in starts]) * np.hanning(window) * (1024.0 / window)
    level = 20.0 * np.log10(np.abs(np.fft.rfft(frames, FFT)).T[:round(top_hz * FFT / SAMPLE_RATE)] + 1e-6)
    shade = np.clip((TOP_DB - level) / RANGE_DB, 0.0, 1.0) * 255.0
    return np.asarray(Image.fromarray(shade[::-1].astype(np.uint8)).resize((columns, height), Image.BICUBIC))


def spectrogram_rows(rows, path, window, top_hz, seconds=(0.3, 1.5), columns=600, height=190, levels=12):
    """Writes (name, pcm) pairs one below the other, with the same stretch of each."""
    first, last = (round(second * SAMPLE_RATE) for second in seconds)
    images = [spectrogram(pcm[first:last], window, columns, height, top_hz) for _, pcm in rows]
    picture = Image.fromarray(np.concatenate(images))
    draw = ImageDraw.Draw(picture)
    for number, (name, _) in enumerate(rows):
        draw.rectangle([0, number * height, columns, number * height], fill=0)
        draw.rectangle([0, number * height + 1, 6 * len(name) + 6, number * height + 13], fill=255)
        draw.text((3, number * height + 2), name, fill=0)
    picture.quantize(levels).save(path, optimize=True)
