#!/bin/sh
# Near-speaker voice activity, from the first sound to checked graphs: about an hour on two cores. RHVOICE: a
# folder of RHVoice's speech (../recognizer/README.md). Without it there are fewer voices; all else is the
# same.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
CACHE=$(realpath -m "${CACHE:-../.cache/voice-activity}")
NODE_ROOT=$(realpath "${NODE_ROOT:-../../..}")
RECOGNIZER=$(realpath "${RECOGNIZER:-../../svc-kk-ru-v2}")
NEAR=$(realpath "${NEAR:-../../near-voice-v1}")
export OMP_NUM_THREADS=1 RECOGNIZER_CACHE="$CACHE/recognizer"
mkdir -p "$CACHE"
PACKED=
if [ -n "${RHVOICE:-}" ]; then
  [ -e "$RECOGNIZER_CACHE/rhvoice/index.tsv" ] || "$PYTHON" ../recognizer/rhvoice.py prepare --from "$RHVOICE"
  PACKED="--rhvoice $RECOGNIZER_CACHE/rhvoice"
fi
# shellcheck disable=SC2086
"$PYTHON" shards.py $PACKED --out "$CACHE/shards" --near "${NEAR_HOURS:-40}" --voices "${VOICE_HOURS:-20}" \
  --noise "${NOISE_HOURS:-16}" --whole "${WHOLE_HOURS:-20}"
"$PYTHON" train_near.py --shards "$CACHE/shards" --out "$CACHE/run" --minutes "${MINUTES:-50}"
"$PYTHON" export_near.py alone --checkpoint "$CACHE/run/checkpoint.pt" --shards "$CACHE/shards" \
  --stream "$RECOGNIZER/stream.onnx" --out "$CACHE/near.onnx"
cp "$RECOGNIZER/stream.onnx" "$CACHE/stream-before.onnx"
"$PYTHON" export_near.py inside --near "$CACHE/near.onnx" --stream "$RECOGNIZER/stream.onnx" --out "$CACHE/stream.onnx"
node verify_near.mjs "$NODE_ROOT" "$CACHE/stream-before.onnx" "$CACHE/stream.onnx" "$CACHE/near.onnx"
cp "$CACHE/near.onnx" "$NEAR/near.onnx"
cp "$CACHE/stream.onnx" "$RECOGNIZER/stream.onnx"
"$PYTHON" ../gpu/variants.py "$RECOGNIZER"
for folder in "$NEAR" "$RECOGNIZER"; do
  (cd "$NODE_ROOT" && node scripts/seal-model.mjs "$folder")
done
