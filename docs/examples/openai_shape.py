"""Speaks a text and transcribes it on the paths of OpenAI's shape, by plain HTTP: openai_shape.py TEXT FILE"""

import json
import os
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from http.client import HTTPResponse

URL = os.environ.get("DAUYS_URL", "http://127.0.0.1:8080")
KEY = os.environ["DAUYS_API_KEY"]


def post(path: str, body: bytes, content_type: str) -> HTTPResponse:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    return urllib.request.urlopen(urllib.request.Request(URL + path, body, headers))


def speak(text: str) -> bytes:
    request = {"model": "tts-1", "input": text, "voice": "aigul", "response_format": "wav"}
    with post("/v1/audio/speech", json.dumps(request).encode(), "application/json") as answer:
        return answer.read()


def transcribe(name: str, sound: bytes) -> Iterator[str]:
    """Yields the text in pieces, while the file is transcribed."""
    boundary = uuid.uuid4().hex
    fields = {"model": "whisper-1", "stream": "true"}
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
             for field, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = b"".join([*parts, head.encode(), sound, f"\r\n--{boundary}--\r\n".encode()])
    with post("/v1/audio/transcriptions", body, f"multipart/form-data; boundary={boundary}") as events:
        for line in events:
            event = json.loads(line.removeprefix(b"data: ")) if line.strip() else {}
            if event.get("type") == "transcript.text.delta":
                yield event["delta"]
            elif event.get("type") == "error":
                raise RuntimeError(event["error"]["message"])


def main() -> None:
    text, file = sys.argv[1:]
    sound = speak(text)
    with open(file, "wb") as out:
        out.write(sound)
    for piece in transcribe(os.path.basename(file), sound):
        print(piece, end="", flush=True)
    print()


main()
