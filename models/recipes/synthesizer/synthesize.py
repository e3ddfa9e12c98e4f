"""Speaks text with the trained weights in PyTorch: `synthesize.py --text "..." [--voice aigul] [--out
speech.wav]`.

The functions here are also the reference for the engine's own code around the graphs: durations to frames,
position features, the solver and the vocoder's excitation."""

import argparse

import numpy as np
import soundfile
import torch

from acoustic import PATCH, sway
from config import DEFAULT_VOICE, N_MELS, SAMPLE_RATE, VOICES
from data import position_features
from excitation import excitation_tensors
from export import load_models
from text import clean, encode


def frames_of(log_duration):
    """Log durations f32 [N] -> whole frames int [N]: the cumulative sum is rounded, so errors do not add up."""
    edges = np.round(np.cumsum(np.expm1(np.maximum(np.asarray(log_duration, np.float64), 0.0))))
    return np.diff(np.concatenate([[0], edges])).astype(int)


def synthesize(models, texts, voices, speeds=None, durations=None, f0=None, steps=16, temperature=0.7, seed=0):
    """Speaks several texts in one batch.

    texts: cleaned strings; voices: indices; speeds: factors (1 = normal); durations: frames per token, or None to predict
    them; f0: list of (Hz [T], voicing [T]) to use in place of the prediction. Returns a list of dicts with pcm f32 [n],
    mel f32 [T,80] (normalised), f0 [T], voicing [T], durations."""
    acoustic, vocoder = models
    tokens = [encode(text) for text in texts]
    batch, longest = len(texts), max(map(len, tokens))
    ids = torch.zeros(batch, longest, dtype=torch.int64)
    for row, values in enumerate(tokens):
        ids[row, :len(values)] = torch.tensor(values)
    voice = torch.tensor(voices)
    speed = torch.log(torch.tensor([1.0] * batch if speeds is None else speeds, dtype=torch.float32))
    with torch.no_grad():
        hidden, log_duration = acoustic.encoder(ids, voice, speed)
        if durations is None:
            durations = [frames_of(log_duration[row, :len(values)]) for row, values in enumerate(tokens)]
        frames = [int(np.sum(d)) for d in durations]
        even = [n + n % 2 for n in frames]
        total = max(even)
        index, position, mask = np.zeros((batch, total), np.int64), np.zeros((batch, total, 3), np.float32), torch.zeros(batch, total)
        for row in range(batch):
            index[row], position[row] = position_features(durations[row], even[row], total)
            mask[row, :even[row]] = 1.0
        index, position = torch.from_numpy(index), torch.from_numpy(position)
        condition, hertz, voicing = acoustic.condition(hidden, index, position, voice, mask)
        patch_mask = mask[:, ::PATCH].unsqueeze(-1)
        generator = torch.Generator().manual_seed(seed)
        x = temperature * torch.randn(batch, total // PATCH, PATCH * N_MELS, generator=generator) * patch_mask
        times = sway(steps)
        for i in range(steps):
            t, dt = torch.full((batch,), float(times[i])), torch.full((batch,), float(times[i + 1] - times[i]))
            x = acoustic.decoder(x, condition, t, dt, voice, patch_mask)
        mel = x.reshape(batch, total, N_MELS)
        results = []
        for row in range(batch):
            n = frames[row]
            pulses, white = excitation_tensors(hertz[row:row + 1, :n], seed)
            pcm = vocoder(mel[row:row + 1, :n], hertz[row:row + 1, :n], voicing[row:row + 1, :n], pulses, white)[0]
            results.append({"pcm": pcm.numpy(), "mel": mel[row, :n].numpy(), "f0": hertz[row, :n].numpy(),
                            "voicing": voicing[row, :n].numpy(), "durations": np.asarray(durations[row])})
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", required=True)
    parser.add_argument("--voice", default=DEFAULT_VOICE)
    parser.add_argument("--speed", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="speech.wav")
    options = parser.parse_args()
    torch.set_num_threads(1)
    text = clean(options.text)
    if text is None:
        raise SystemExit("the text has characters outside the symbol set; write numbers and abbreviations as words")
    voice = [voice.id for voice in VOICES].index(options.voice)
    acoustic, vocoder, progress = load_models()
    result = synthesize((acoustic, vocoder), [text], [voice], [options.speed], steps=options.steps,
                        temperature=options.temperature, seed=options.seed)[0]
    soundfile.write(options.out, np.clip(result["pcm"], -1.0, 1.0), SAMPLE_RATE, subtype="PCM_16")
    print(f"{options.out}: {len(result['pcm']) / SAMPLE_RATE:.2f} s, weights {progress}")


if __name__ == "__main__":
    main()
