"""Where tiny packages are, their seed, and their manifests: what recipes without torch need too."""
import json
import os

FIXTURES = os.path.join(os.path.dirname(__file__), "../../../test/fixtures/adapters")
SEED = 20261121


def write_manifest(package, manifest, files):
    """Hashes are filled in by scripts/seal-model.mjs."""
    manifest = {"id": package, "interfaceVersion": 1, **manifest, "licence": "Apache-2.0",
                "files": {name: {"path": path, "sha256": "0" * 64} for name, path in files.items()}}
    with open(os.path.join(FIXTURES, package, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest, out, ensure_ascii=False, indent=2)
        out.write("\n")
