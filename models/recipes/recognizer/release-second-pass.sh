#!/bin/sh
# Turns a checkpoint of the second pass into a checked int8 graph: RUN/full.onnx. RUN is the folder with
# checkpoint.pt; BLEND is the share of the way from the shipped weights to the trained ones.
#   BLEND=0.8 sh release-second-pass.sh RUN
# Then, if it is better: cp RUN/full.onnx MODEL/, `node dist/bench/evaluate/tune.js --limit 2000 --write`,
# seal-model.mjs, `npm run evaluate`.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RUN=$(realpath "$1")
NODE_ROOT=$(realpath "${NODE_ROOT:-../../..}")
MODEL=$(realpath "${MODEL:-../../svc-kk-ru-v2}")
export OMP_NUM_THREADS=1
"$PYTHON" second_pass.py export --checkpoint "$RUN/checkpoint.pt" --out "$RUN" --init "$MODEL/full.onnx" \
  --blend "${BLEND:-1}"
mkdir -p "$RUN/probe"
"$PYTHON" quantize.py probe "$RUN/fp32.onnx" "$RUN/probe/full.onnx"
cp "$MODEL/stream.onnx" "$RUN/probe/stream.onnx"
node calibrate.mjs "$RUN/probe" 5 "$NODE_ROOT"
"$PYTHON" quantize.py write "$RUN/fp32.onnx" "$RUN/int8.onnx" "$RUN/probe/full.json"
"$PYTHON" pack.py "$RUN/int8.onnx" "$RUN/full.onnx"
"$PYTHON" fewer_nodes.py "$RUN/full.onnx" "$RUN/full.onnx"
node verify_second_pass.mjs "$NODE_ROOT" "$RUN" "$MODEL/full.onnx"
