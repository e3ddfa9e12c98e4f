#!/bin/sh
# Adds voices to a trained model: speech of all voices of config.py, then vocoder and acoustic model trained
# further from the weights in ../.cache/synthesizer, whose normalisation is kept. Settings come from the
# environment, as in run.sh.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
DEVICE=${DEVICE:-cpu}
[ "$DEVICE" = cpu ] && export OMP_NUM_THREADS=1
BASE=$(realpath ../.cache/synthesizer)
SYNTHESIZER_CACHE=${NEXT:-$(realpath ../.cache)/next/synthesizer}
export SYNTHESIZER_CACHE
mkdir -p "$SYNTHESIZER_CACHE"
cp "$BASE/statistics.npz" "$SYNTHESIZER_CACHE/"
[ -f "$SYNTHESIZER_CACHE/prepare.json" ] || "$PYTHON" prepare.py --hours "${HOURS:-3}" --seed 2
"$PYTHON" train_vocoder.py --minutes "${VOCODER_MINUTES:-7}" --rate 6e-4 --init "$BASE/vocoder.pt" --device "$DEVICE" --resume
"$PYTHON" train_acoustic.py --minutes "${ACOUSTIC_MINUTES:-46}" --rate 9e-4 --seed 3 --init "$BASE/acoustic.pt" \
  --device "$DEVICE" --resume
"$PYTHON" export.py
"$PYTHON" verify_export.py --runtime "${RUNTIME:-onnxruntime-node}"
"$PYTHON" reference.py
"$PYTHON" evaluate.py --write
