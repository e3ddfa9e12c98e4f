"""Spectrograms as PNG files: black is loud, 0 Hz at the bottom."""

import numpy as np
from PIL import Image, ImageDraw

from config import SAMPLE_RATE

SIZE, HOP = 1024, 96
RANGE_DB = 75.0
TOP_DB = 25.0
WINDOW = 600  # samples: shows harmonics of a low voice and the bursts of stops


def spectrogram(pcm, height):
    """u8 [height, columns], 255 is silence; height in bins from 0 Hz to the top."""
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(pcm, WINDOW // 2), WINDOW)[::HOP] * np.hanning(WINDOW)
    level = 20.0 * np.log10(np.abs(np.fft.rfft(frames, SIZE)).T[:SIZE // 2] + 1e-6)
    shade = np.clip((TOP_DB - level) / RANGE_DB, 0.0, 1.0) * 255.0
    return np.asarray(Image.fromarray(shade[::-1].astype(np.uint8)).resize((shade.shape[1], height), Image.BOX))


def spectrogram_rows(rows, path, seconds=(0.0, 2.5), height=256, levels=16):
    """Writes (name, pcm) pairs one below the other, the same stretch of each."""
    first, last = (round(second * SAMPLE_RATE) for second in seconds)
    images = [spectrogram(pcm[first:last], height) for _, pcm in rows]
    picture = Image.fromarray(np.concatenate(images)).quantize(levels).convert("L")
    draw = ImageDraw.Draw(picture)
    for number, (name, _) in enumerate(rows):
        draw.rectangle([0, number * height, 7 * len(name) + 6, number * height + 13], fill=255)
        draw.text((3, number * height + 1), name, fill=0)
    picture.quantize(levels).save(path, optimize=True)
