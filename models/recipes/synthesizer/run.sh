#!/bin/sh
# Runs the whole recipe, from text to verified graphs. Settings by environment: PYTHON, DEVICE (cpu or cuda),
# HOURS of speech per voice, VOCODER_MINUTES, ACOUSTIC_MINUTES, RUNTIME (folder of onnxruntime-node). A second
# run resumes the trainings.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
DEVICE=${DEVICE:-cpu}
[ "$DEVICE" = cpu ] && export OMP_NUM_THREADS=1
CACHE=${SYNTHESIZER_CACHE:-../.cache/synthesizer}

[ -f "$CACHE/prepare.json" ] || "$PYTHON" prepare.py --hours "${HOURS:-3.4}"
"$PYTHON" train_vocoder.py --minutes "${VOCODER_MINUTES:-14}" --device "$DEVICE" --resume
"$PYTHON" train_acoustic.py --minutes "${ACOUSTIC_MINUTES:-55}" --device "$DEVICE" --resume
"$PYTHON" export.py
"$PYTHON" ../gpu/variants.py "$(realpath ../../svc-kk-v1)"
"$PYTHON" verify_export.py --runtime "${RUNTIME:-onnxruntime-node}"
"$PYTHON" reference.py
"$PYTHON" evaluate.py --write
