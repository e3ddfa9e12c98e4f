#!/bin/sh
# Transcribes the default microphone while you talk, until Ctrl-C; arguments are another input for ffmpeg.
set -eu
[ $# -gt 0 ] || set -- -f pulse -i default

ffmpeg -loglevel error "$@" -f s16le -ac 1 -ar 16000 - | node "$(dirname "$0")/live.mjs"
