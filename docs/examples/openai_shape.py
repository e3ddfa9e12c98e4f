"""Speaks a text and transcribes it on the paths of OpenAI's shape, by plain HTTP: openai_shape.py TEXT FILE"""

import json
import os
import sys
import urllib.request
import uuid

URL = os.environ.get("DAUYS_URL", "http://127.0.0.1:8080")
KEY = os.environ["DAUYS_API_KEY"]


def post(path: str, body: bytes, content_type: str) -> bytes:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": content_type}
    with urllib.request.urlopen(urllib.request.Request(URL + path, body, headers)) as answer:
        return answer.read()


def speak(text: str) -> bytes:
    request = {"model": "tts-1", "input": text, "voice": "aigul", "response_format": "wav"}
    return post("/v1/audio/speech", json.dumps(request).encode(), "application/json")


def transcribe(name: str, sound: bytes) -> str:
    boundary = uuid.uuid4().hex
    fields = {"model": "whisper-1", "response_format": "json"}
    parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'.encode()
             for field, value in fields.items()]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    body = b"".join([*parts, head.encode(), sound, f"\r\n--{boundary}--\r\n".encode()])
    answer = post("/v1/audio/transcriptions", body, f"multipart/form-data; boundary={boundary}")
    return json.loads(answer)["text"]


def main() -> None:
    text, file = sys.argv[1:]
    sound = speak(text)
    with open(file, "wb") as out:
        out.write(sound)
    print(transcribe(os.path.basename(file), sound))


main()
