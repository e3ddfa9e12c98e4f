"""Log-mel features by torch and NumPy, written like the original front ends, for comparison in
test/domain/audio/log-mel.test.ts and speech-features.test.ts. For a known signal, all values of some frames:
test/fixtures/adapters/log-mel-reference.json. For speech, every STRIDE-th value, as the models receive it:
speech-features-reference.json. Requires the program flac."""
import json
import os
import subprocess

import numpy as np
import torch

from tiny import FIXTURES

RATE = 16000
SAMPLES = 1700
RECORDING = "kazakh-speech-commands/example_1.flac"
STRIDE = 61


def signal():
    i = np.arange(SAMPLES)
    return (0.3 * np.sin(i * i * 0.0007) + 0.1 * np.sin(i * 0.05) + 0.02).astype(np.float32)


def triangles(points, freqs):
    left, centre, right = points[:-2, None], points[1:-1, None], points[2:, None]
    return np.maximum(0, np.minimum((freqs - left) / (centre - left), (right - freqs) / (right - centre)))


def htk(n_fft, bins):
    mel = np.linspace(0, 2595 * np.log10(1 + 8000 / 700), bins + 2)
    return triangles(700 * (10 ** (mel / 2595) - 1), np.linspace(0, RATE / 2, n_fft // 2 + 1))


def slaney(n_fft, bins):
    def to_hz(m):
        return np.where(m >= 15, 1000 * np.exp(np.log(6.4) / 27 * (m - 15)), m * 200 / 3)
    points = to_hz(np.linspace(0, 15 + np.log(8) / (np.log(6.4) / 27), bins + 2))
    return triangles(points, np.linspace(0, RATE / 2, n_fft // 2 + 1)) * (2 / (points[2:] - points[:-2]))[:, None]


# Windows are single precision, like those of the checkpoints; all else is double, so that the order in which
# a DFT adds does not matter.
def power(x, n_fft, win, window, center, mode):
    z = torch.stft(torch.from_numpy(x).double(), n_fft, 160, win, window.double(), center=center, pad_mode=mode,
                   return_complex=True)
    return z.abs().pow(2).numpy()


def gigaam_v2(x):
    return np.log(np.clip(htk(400, 64) @ power(x, 400, 400, torch.hann_window(400), True, "reflect"), 1e-9, 1e9)).T


def gigaam_v3(x):
    return np.log(np.clip(htk(320, 64) @ power(x, 320, 320, torch.hann_window(320), False, "reflect"), 1e-9, 1e9)).T


def nemo(x):
    y = np.concatenate([x[:1], x[1:] - 0.97 * x[:-1]])
    spectrum = power(y, 512, 400, torch.hann_window(400, periodic=False), True, "constant")
    return np.log(slaney(512, 80) @ spectrum + 2 ** -24).T[:len(x) // 160]


def kaldi(x):
    frames = (len(x) + 80) // 160
    mel = 1127 * np.log(1 + np.array([20, 7600]) / 700)
    points = np.linspace(mel[0], mel[1], 82)
    bank = triangles(points, 1127 * np.log(1 + np.arange(256) * RATE / 512 / 700))
    window = torch.hann_window(400, periodic=False, dtype=torch.float64).numpy() ** 0.85
    rows = []
    padded = np.concatenate([x[:400][::-1], x, x[-400:][::-1]]).astype(np.float64)
    for frame in range(frames):
        w = padded[400 + 160 * frame - 120:][:400]
        w = w - w.mean()
        w = w - 0.97 * np.concatenate([w[:1], w[:-1]])
        rows.append(np.log(np.maximum(bank @ (np.abs(np.fft.rfft(w * window, 512))[:256] ** 2), np.finfo(np.float32).eps)))
    return np.stack(rows)


def speech():
    path = os.path.join(FIXTURES, "../speech", RECORDING)
    raw = subprocess.run(["flac", "-s", "-d", "-c", "--force-raw-format", "--endian=little", "--sign=signed", path],
                         check=True, capture_output=True).stdout
    return (np.frombuffer(raw, dtype="<i2") / 32768).astype(np.float32)


def nemo_normalized(x):
    features = torch.from_numpy(nemo(x))
    mean, std = features.mean(dim=0), features.std(dim=0, unbiased=True)
    return ((features - mean) / (std + 1e-5)).numpy()


def write(file, reference):
    with open(os.path.join(FIXTURES, file), "w") as out:
        json.dump(reference, out)
        out.write("\n")


def main():
    x = signal()
    found = {"gigaam-v2": gigaam_v2(x), "gigaam-v3": gigaam_v3(x), "nemo": nemo(x), "kaldi": kaldi(x)}
    write("log-mel-reference.json", {"samples": SAMPLES, "frontEnds": {
        name: {"bins": int(f.shape[1]), "frames": int(f.shape[0]),
               "rows": {str(i): [round(float(v), 4) for v in f[i]] for i in (0, 5, f.shape[0] - 1)}}
        for name, f in found.items()}})
    x = speech()
    found = {"gigaam-v3": gigaam_v3(x), "nemo": nemo_normalized(x)}
    write("speech-features-reference.json", {"recording": RECORDING, "stride": STRIDE, "frontEnds": {
        name: {"bins": int(f.shape[1]), "frames": int(f.shape[0]),
               "values": [round(float(v), 5) for v in f.reshape(-1)[::STRIDE]]}
        for name, f in found.items()}})


if __name__ == "__main__":
    main()
