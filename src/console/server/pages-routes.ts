import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { ServiceError } from "../../../core/domain/errors.js";
import type { Exchange } from "../../http/exchange.js";
import type { Route } from "../../http/router.js";
import { isPage, pagePath } from "../paths.js";

const PAGES_FOLDER = fileURLToPath(new URL("../../../console/", import.meta.url));

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Allows scripts and connections of this service only, and forbids inline code and framing. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
const PAGE_HEADERS = {
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "permissions-policy": "microphone=(self), camera=(), geolocation=()",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
  "cache-control": "no-cache",
};
const ASSET_HEADERS = { "cache-control": "public, max-age=31536000, immutable" };

interface Asset {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}

/**
 * Serves the console. Every path without a file extension is its single page, with 404 if the path is
 * unknown.
 */
export function pageRoutes(folder: string = PAGES_FOLDER): readonly Route[] {
  let loading: Promise<ReadonlyMap<string, Asset>> | null = null;
  const handle = async (exchange: Exchange) => {
    loading ??= loadAssets(folder);
    const assets = await loading;
    const name = exchange.request.path.slice("/console/".length);
    const isFile = extname(name) !== "";
    const asset = assets.get(isFile ? name : "index.html");
    if (asset === undefined) {
      const reason =
        assets.size === 0
          ? "the console is not built; run `npm run build`"
          : `no such file: /console/${name}`;
      throw new ServiceError("NOT_FOUND", reason);
    }
    await send(exchange, asset, isFile || isPage(pagePath(exchange.request.path)) ? 200 : 404);
  };
  return [
    { method: "GET", path: "/console", isSameOrigin: true, handle },
    { method: "GET", path: "/console/*", isSameOrigin: true, handle },
  ];
}

async function send(exchange: Exchange, asset: Asset, status: 200 | 404): Promise<void> {
  const accepted = exchange.request.header("accept-encoding") ?? "";
  const encoding = (["br", "gzip"] as const).find((name) => accepted.includes(name));
  exchange.start(status, {
    "content-type": asset.contentType,
    "x-content-type-options": "nosniff",
    vary: "accept-encoding",
    ...asset.headers,
    ...(encoding !== undefined && { "content-encoding": encoding }),
  });
  await exchange.end(asset[encoding ?? "plain"]);
}

/** Loads all files, which are few and small, by path. Returns an empty map if nothing was built. */
async function loadAssets(folder: string): Promise<ReadonlyMap<string, Asset>> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const known = names.filter((name) => CONTENT_TYPES[extname(name)] !== undefined);
  return new Map(
    await Promise.all(known.map(async (name) => [name, await loadAsset(join(folder, name))] as const)),
  );
}

async function loadAsset(path: string): Promise<Asset> {
  const plain = await readFile(path);
  const isPage = path.endsWith(".html");
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  return {
    contentType: CONTENT_TYPES[extname(path)] ?? "application/octet-stream",
    // The names of all other files contain a hash of their content.
    headers: isPage ? PAGE_HEADERS : ASSET_HEADERS,
    plain,
    br: await promisify(brotliCompress)(plain, quality),
    gzip: await promisify(gzip)(plain),
  };
}
