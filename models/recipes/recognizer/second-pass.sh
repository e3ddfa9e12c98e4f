#!/bin/sh
# Trains the second pass further on new speech, as the shipped streaming half hears it; stream.onnx stays as it is.
#   sh second-pass.sh                                     # an hour on one core
#   CENTRED="1 4 8" RUN=three sh second-pass.sh           # another size
# Needs what finetune.sh needs, `npm ci` and `npm run build`, and the development sentences of
# ../language-model/make_dev_audio.py. Stopped and started again it goes on; with more MINUTES it is lengthened.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-/usr/bin/python3}
RECOGNIZER_CACHE=$(realpath -m ../.cache/second-pass)
export RECOGNIZER_CACHE OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
SHARDS=$RECOGNIZER_CACHE/shards
RUN=$RECOGNIZER_CACHE/${RUN:-run}
mkdir -p "$SHARDS"
[ -f ../.cache/dev/index.jsonl ] || "$PYTHON" ../language-model/make_dev_audio.py
seed=201
for voice in msu dita krb machac ph; do
  minutes=6
  [ $voice = msu ] && minutes=15
  [ -d "$RECOGNIZER_CACHE/concatenative/$voice" ] ||
    "$PYTHON" concatenative.py --voice $voice --minutes $minutes --seed $seed --out "$RECOGNIZER_CACHE/concatenative"
  seed=$((seed + 1))
done
nice -n 19 "$PYTHON" generate.py --encoded --out "$SHARDS" --clean-hours 0 --shard-hours 0.4 --drawn 170 --mix 0.26 0.54 0.20 \
  --recorded 0.025 0.10 --silent 0.05 --coded 0.015 --hours "${HOURS:-20}" --seed 201 --workers "${WORKERS:-1}" &
generator=$!
# Training starts with the first two hours and picks up the rest as it comes.
while [ "$(ls "$SHARDS" | grep -c 'npz$')" -lt 5 ] && kill -0 $generator; do sleep 2; done
"$PYTHON" second_pass.py train --out "$RUN" --shards "$SHARDS" --channels "${CHANNELS:-384}" --centred ${CENTRED:-1 2 4 8 1} \
  --minutes "${MINUTES:-40}" --decay "${DECAY:-0.6}"
wait $generator
sh release-second-pass.sh "$RUN"
