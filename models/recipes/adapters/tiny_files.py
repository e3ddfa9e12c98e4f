"""Folder, seed and manifests of the tiny packages, which recipes without torch also need."""
import json
import os

FIXTURES = os.path.join(os.path.dirname(__file__), "../../../test/fixtures/adapters")
SEED = 20261121


def write_manifest(package, manifest, files):
    """scripts/seal-model.mjs fills in the hashes."""
    manifest = {"id": package, "interfaceVersion": 1, **manifest, "licence": "Apache-2.0",
                "files": {name: {"path": path, "sha256": "0" * 64} for name, path in files.items()}}
    with open(os.path.join(FIXTURES, package, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest, out, ensure_ascii=False, indent=2)
        out.write("\n")
