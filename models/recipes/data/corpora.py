"""Lines of the text corpora. Large ones are Brotli files: a fifth smaller than gzip, and readable by the
tests without a package. Python has no Brotli module, so Node, which the service needs anyway, unpacks them
here."""
import io
import os
import subprocess

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "text")
UNPACK = "process.stdin.pipe(zlib.createBrotliDecompress()).pipe(process.stdout)"


def lines(name):
    """Yields the lines of a file of `text/`, with their ends, as `open` does."""
    with open(os.path.join(FOLDER, name), "rb") as file:
        packed = file.read()
    if name.endswith(".br"):
        packed = subprocess.run(["node", "-e", UNPACK], input=packed, stdout=subprocess.PIPE, check=True).stdout
    yield from io.TextIOWrapper(io.BytesIO(packed), encoding="utf-8")
