"""Input of the second pass: the output of the shipped streaming graph, kept as int16.

The streaming half stays as shipped, so its output is computed once for every training clip, by the same graph
(int8 and all) that the service runs; training the second pass then costs nothing but the second pass. 73 MB
an hour."""
import json
import os
import subprocess

import numpy as np
import soundfile

import augment as A
import text

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("NODE_ROOT", os.path.join(HERE, "..", "..", ".."))
MODEL = os.path.join(HERE, "..", "..", "svc-kk-ru-v2")
DEV = os.path.join(HERE, "..", ".cache", "dev")
STEPS = 1024  # of int16 a unit
WIDTH = 384  # channels of the encoding
FLUSH = 8  # frames of digital silence that the service appends


class Encoder:
    """The graph in a Node process, which ends with this object's process."""

    def __init__(self, model=MODEL):
        self.process = subprocess.Popen(["node", os.path.join(HERE, "encode.mjs"), ROOT, model, str(STEPS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, x):
        """Samples in [-1, 1], a multiple of a frame -> (frames + FLUSH, E) int16; digital silence is appended
        to them."""
        samples = np.clip(np.rint(np.asarray(x) * 32768), -32768, 32767).astype(np.int16)
        samples = np.pad(samples, (0, FLUSH * A.FRAME))
        frames = len(samples) // A.FRAME
        self.process.stdin.write(np.uint32(len(samples)).tobytes() + samples.tobytes())
        self.process.stdin.flush()
        answer = self.process.stdout.read(2 * frames * WIDTH)
        if len(answer) < 2 * frames * WIDTH:
            raise RuntimeError("the encoder has ended, exit code %s" % self.process.wait())
        return np.frombuffer(answer, np.int16).reshape(frames, WIDTH)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def to_float(encoded):
    return encoded.astype(np.float32) * np.float32(1 / STEPS)


def dev_set(folder=DEV):
    """[(set, reference with ё as е, encoding)] of the development sentences; encoded on the first call, then from `encoded.npz`."""
    with open(os.path.join(folder, "index.jsonl"), encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    path = os.path.join(folder, "encoded.npz")
    if not os.path.exists(path):
        encoder, found = Encoder(), {}
        for row in rows:
            x = soundfile.read(os.path.join(folder, row["file"]), dtype="float32")[0]
            found[row["file"]] = encoder(np.pad(x, (0, -len(x) % A.FRAME)))
        encoder.close()
        with open(path + ".part", "wb") as f:
            np.savez(f, **found)
        os.rename(path + ".part", path)
    found = np.load(path)
    return [("%s-%s" % (row["language"], row["condition"]), text.fold(row["normalized"]), found[row["file"]]) for row in rows]
