"""Transcribes PCM from standard input as it arrives, 16-bit little-endian mono at 16 kHz: live.py < speech.pcm

Needs websockets (Debian: python3-websockets).
"""

import asyncio
import json
import os
import sys

import websockets

URL = os.environ.get("DAUYS_URL", "http://127.0.0.1:8080").replace("http", "ws", 1)
KEY = os.environ["DAUYS_API_KEY"]
CHUNK_BYTES = 3_200  # 100 ms


async def send(socket: websockets.WebSocketClientProtocol) -> None:
    loop = asyncio.get_running_loop()
    while pcm := await loop.run_in_executor(None, sys.stdin.buffer.read, CHUNK_BYTES):
        await socket.send(pcm)
    await socket.send(json.dumps({"type": "close"}))


async def receive(socket: websockets.WebSocketClientProtocol) -> None:
    """Prints finals; a final never changes. The service closes the socket after `done`."""
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "final":
            print(message["display_text"], flush=True)
        elif message["type"] == "error":
            raise RuntimeError(f'{message["code"]}: {message["detail"]}')


async def main() -> None:
    # A browser cannot set headers; it sends the key as a subprotocol.
    headers = {"Authorization": f"Bearer {KEY}"}
    async with websockets.connect(f"{URL}/v1/stream?display=true", extra_headers=headers) as socket:
        sending = asyncio.create_task(send(socket))
        await receive(socket)
        await sending


asyncio.run(main())
