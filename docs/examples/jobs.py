"""Transcribes recordings as jobs, without a package, and prints their texts: jobs.py FILE..."""

import hashlib
import json
import os
import sys
import time
import urllib.parse
import urllib.request

URL = os.environ.get("DAUYS_URL", "http://127.0.0.1:8080")
KEY = os.environ["DAUYS_API_KEY"]


def call(method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
    every = {"Authorization": f"Bearer {KEY}", **(headers or {})}
    request = urllib.request.Request(URL + path, body, every, method=method)
    with urllib.request.urlopen(request) as answer:
        return answer.read()


def submit(name: str) -> str:
    """Returns the id of the job. The same recording gets the same job, so the program may be repeated."""
    with open(name, "rb") as file:
        sound = file.read()
    headers = {
        "Content-Type": "application/octet-stream",
        "X-Filename": urllib.parse.quote(os.path.basename(name)),
        "Idempotency-Key": hashlib.sha256(sound).hexdigest(),
    }
    return json.loads(call("POST", "/v1/jobs/transcriptions?display=true", sound, headers))["id"]


def wait(job: str) -> None:
    """Waits for the end of a job. With webhook_url the service would report it instead."""
    while True:
        state = json.loads(call("GET", f"/v1/jobs/{job}"))
        if state["status"] == "done":
            return
        if state["status"] in ("failed", "cancelled"):
            raise RuntimeError(f'{job} {state["status"]}: {state.get("error")}')
        time.sleep(0.5)


jobs = {name: submit(name) for name in sys.argv[1:]}
for name, job in jobs.items():
    wait(job)
    print(f'{name}: {call("GET", f"/v1/jobs/{job}/result?format=txt").decode().strip()}')
