#!/bin/sh
# Speaks a text into a WAV file, and transcribes that file: speak-and-transcribe.sh TEXT FILE
set -eu
url="${DAUYS_URL:-http://127.0.0.1:8080}"

curl --silent --show-error --fail-with-body "$url/v1/tts" \
  -H "Authorization: Bearer $DAUYS_API_KEY" -H "Content-Type: application/json" \
  -d "{\"text\": \"$1\", \"nfe\": 16}" -o "$2"

curl --silent --show-error --fail-with-body "$url/v1/transcribe?timestamps=true" \
  -H "Authorization: Bearer $DAUYS_API_KEY" -H "Content-Type: application/octet-stream" \
  -H "x-filename: $2" --data-binary "@$2"
