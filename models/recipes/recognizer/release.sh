#!/bin/sh
# Turns a checkpoint into the shipped graphs: export, check, int8 with fixed scales, check again.
# RECOGNIZER_CACHE has the checkpoint.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
CACHE=$(realpath "${RECOGNIZER_CACHE:-../.cache/recognizer}")
NODE_ROOT=$(realpath "${NODE_ROOT:-../../..}")
MODEL=$(realpath "${MODEL:-../../svc-kk-ru-v2}")
export OMP_NUM_THREADS=1
"$PYTHON" export.py --checkpoint "$CACHE/checkpoint.pt" --out "$CACHE/fp32"
"$PYTHON" verify_export.py --checkpoint "$CACHE/checkpoint.pt" --model-dir "$CACHE/fp32" --node "$NODE_ROOT"
mkdir -p "$CACHE/probe"
for graph in stream full; do
  "$PYTHON" quantize.py probe "$CACHE/fp32/$graph.onnx" "$CACHE/probe/$graph.onnx"
done
node calibrate.mjs "$CACHE/probe" 5 "$NODE_ROOT"
for graph in stream full; do
  "$PYTHON" quantize.py write "$CACHE/fp32/$graph.onnx" "$MODEL/$graph.onnx" "$CACHE/probe/$graph.json"
done
"$PYTHON" verify_export.py --checkpoint "$CACHE/checkpoint.pt" --model-dir "$MODEL" --node "$NODE_ROOT" --int8
# Store bytes where bytes are enough, with the same results; `verify_packed.mjs` compares them.
for graph in stream full; do
  cp "$MODEL/$graph.onnx" "$CACHE/probe/$graph-int8.onnx"
  "$PYTHON" pack.py "$CACHE/probe/$graph-int8.onnx" "$MODEL/$graph.onnx"
done
"$PYTHON" fixed_transforms.py "$MODEL/stream.onnx" "$MODEL/stream.onnx"
for graph in stream full; do
  "$PYTHON" fewer_nodes.py "$MODEL/$graph.onnx" "$MODEL/$graph.onnx"
done
node verify_packed.mjs "$NODE_ROOT" "$CACHE/probe" "$MODEL"
# Voice activity that follows the near speaker replaces the network's own.
"$PYTHON" ../voice-activity/export_near.py inside --near "$MODEL/../near-voice-v1/near.onnx" --stream "$MODEL/stream.onnx" --out "$MODEL/stream.onnx"
"$PYTHON" ../gpu/variants.py "$MODEL"
cp "$CACHE/curve.json" "$MODEL/training.json"
"$PYTHON" evaluate.py --checkpoint "$CACHE/checkpoint.pt" --into "$MODEL/training.json"
"$PYTHON" simulate.py --checkpoint "$CACHE/checkpoint.pt" --count 12 --into "$MODEL/training.json"
