"""Check the exported graphs: ONNX against torch, any chunking against offline, rows independent, padding ignored.

Needs Node with onnxruntime-node (`--node` is the folder that has it in node_modules). Fails above the tolerance.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import soundfile
import torch

import augment as A
import evaluate
import export

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--checkpoint", default=os.path.join(export.CACHE, "checkpoint.pt"))
    p.add_argument("--model-dir", default=export.MODEL_DIR)
    p.add_argument("--node", default=os.path.join(HERE, "..", "..", ".."), help="folder with node_modules")
    p.add_argument("--tolerance", type=float, default=5e-4)
    p.add_argument("--rows", type=int, default=6)
    p.add_argument("--int8", action="store_true", help="quantised graphs: how far they are from torch is only printed")
    a = p.parse_args()
    torch.set_num_threads(1)
    model, _ = export.load(a.checkpoint)
    paths = {n: os.path.abspath(os.path.join(a.model_dir, n)) for n in ("stream.onnx", "full.onnx")}
    for n, path in paths.items():
        graph = onnx.load(path)
        onnx.checker.check_model(graph)
        print(n, "opset", graph.opset_import[0].version, "%.1f MB" % (os.path.getsize(path) / 1e6),
              sorted({node.op_type for node in graph.graph.node}))
    rng = np.random.default_rng(1)
    sounds = [soundfile.read(f, dtype="float32")[0] for f in sorted(glob.glob(os.path.join(evaluate.EVAL, "*.wav")))]
    sounds = [s for s in sounds if len(s) < 8 * A.RATE]
    sounds = [sounds[i] for i in rng.choice(len(sounds), a.rows, replace=False)] if sounds else [
        rng.standard_normal(60000).astype(np.float32) * 0.1 for _ in range(a.rows)]
    lengths = [-(-(len(s) + evaluate.FLUSH) // A.FRAME) for s in sounds]
    n = max(lengths)
    pcm = np.stack([np.pad(s, (0, n * A.FRAME - len(s))) for s in sounds]).astype(np.float32)
    mask = (np.arange(n)[None] < np.array(lengths)[:, None]).astype(np.float32)
    with torch.no_grad():
        encoded, causal, speech, _ = model.encode(torch.tensor(np.stack([A.log_mel(x) for x in pcm])))
        full = torch.log_softmax(model.refine(encoded, torch.tensor(mask)), -1).numpy()
        causal = torch.log_softmax(causal, -1).numpy()
    with tempfile.TemporaryDirectory() as tmp:
        pcm.tofile(os.path.join(tmp, "pcm"))
        job = dict(stream=paths["stream.onnx"], full=paths["full.onnx"], frames=n, rows=len(pcm),
                   size=export.Stream(model.folded()).size, channels=model.config["channels"],
                   pcm=os.path.join(tmp, "pcm"), chunks=[1, 2, 4, 7], lengths=lengths, out=os.path.join(tmp, "out"))
        with open(os.path.join(tmp, "job.json"), "w") as f:
            json.dump(job, f)
        r = subprocess.run(["node", os.path.join(HERE, "verify_export.mjs"), a.node, os.path.join(tmp, "job.json")],
                           capture_output=True, text=True)
        if r.returncode:
            sys.exit(r.stderr)
        result = json.loads(r.stdout.strip().splitlines()[-1])
        get = lambda k, *shape: np.fromfile(os.path.join(tmp, "out." + k), np.float32).reshape(shape)
        b = len(pcm)
        report = result["report"]
        report["log_probs, torch against onnx"] = float(np.abs(get("log_probs", b, n, 71) - causal).max())
        report["speech, torch against onnx"] = float(np.abs(
            get("speech", b, n) - torch.sigmoid(speech).numpy()).max())
        report["full log_probs, torch against onnx"] = float((np.abs(get("full", b, n, 71) - full)
                                                              * mask[..., None]).max())
    for k, v in report.items():
        print("%-50s %.2e" % (k, v))
    for k, v in result["speed"].items():
        print("%-50s %s" % (k, v))
    # Torch computes its log-mel in numpy, so that comparison contains both front ends' rounding.
    limit = lambda k: (np.inf if a.int8 else 20 * a.tolerance) if "torch" in k else a.tolerance
    bad = [k for k, v in report.items() if v > limit(k)]
    sys.exit("above tolerance: %s" % bad if bad else 0)


if __name__ == "__main__":
    main()
