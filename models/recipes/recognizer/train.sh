#!/bin/sh
# Runs everything from a clean clone: shards, evaluation set, training, export, checks.
#   sh train.sh                      # 75 minutes on one CPU core
#   DEVICE=cuda MINUTES=20 WORKERS=14 sh train.sh
# PYTHON needs torch, numpy, scipy, soundfile, onnx; libespeak-ng.so.1 and its data must be installed.
# NODE_ROOT is a folder whose node_modules has onnxruntime-node (the repository root after `npm ci`).
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
CACHE=../.cache/recognizer
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$CACHE"
"$PYTHON" text.py > /dev/null # writes vocabulary.json
{
  nice -n 19 "$PYTHON" generate.py --hours 54 --workers "${WORKERS:-1}"
  # Russian needs more text: its spelling has to be learned word by word.
  nice -n 19 "$PYTHON" generate.py --hours 74 --mix 0.15 0.75 0.10 --workers "${WORKERS:-1}"
} > "$CACHE/generate.log" 2>&1 &
generator=$!
"$PYTHON" make_eval.py --count 100
# Training starts with the first five hours and picks up the rest as it appears.
while [ "$(ls "$CACHE"/shards/*.npz 2> /dev/null | wc -l)" -lt 10 ]; do
  kill -0 $generator || break
  sleep 2
done
"$PYTHON" train.py --minutes "${MINUTES:-75}" --device "${DEVICE:-cpu}" 2>&1 | tee -a "$CACHE/train.log"
wait $generator
"$PYTHON" export.py
"$PYTHON" evaluate.py --into ../../svc-kk-ru-v2/training.json
"$PYTHON" simulate.py --count 12 --into ../../svc-kk-ru-v2/training.json
"$PYTHON" verify_export.py --node "${NODE_ROOT:-../../..}"
