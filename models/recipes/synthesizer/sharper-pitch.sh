#!/bin/sh
# Trains F0 and voicing of the shipped model further, from its graphs: checkpoints, speech of all voices,
# predictor, graphs. Settings by environment as in run.sh. The other three graphs stay the same, byte for
# byte. Half of the speech is `saule`'s, whose intonation is the narrowest, and a third of it is fast, which
# makes pitch hardest to predict; the first run used HOURS=1 USUAL=0.5 FAST=0 SEED=4 PITCH_MINUTES=13.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS=1
SYNTHESIZER_CACHE=${NEXT:-$(realpath ..)/.cache/pitch}
export SYNTHESIZER_CACHE
[ -f "$SYNTHESIZER_CACHE/shipped.pt" ] || { "$PYTHON" from_graphs.py; mv "$SYNTHESIZER_CACHE/acoustic.pt" "$SYNTHESIZER_CACHE/shipped.pt"; }
[ -f "$SYNTHESIZER_CACHE/prepare.json" ] || "$PYTHON" prepare.py --hours ${HOURS:-0.5 0.5 1.4 0.5} --usual-share "${USUAL:-0.25}" \
  --fast-share "${FAST:-0.3}" --seed "${SEED:-9}" --pitch-only
"$PYTHON" train_pitch.py --init "$SYNTHESIZER_CACHE/shipped.pt" --minutes "${PITCH_MINUTES:-20}" --twice saule
"$PYTHON" export.py
