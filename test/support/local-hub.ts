import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A repository of the hub, which contains its files by path. */
export interface Repository {
  readonly commit: string;
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** The token that its files require, as in gated repositories. */
  readonly token?: string;
}

/** A fault of one response. */
export type Fault =
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The connection ends after this many bytes of the body, once the client has received them. */
  | { readonly kind: "cut"; readonly after: number; readonly isTaken: () => boolean }
  /** The response stalls, and the connection stays open. */
  | { readonly kind: "stall"; readonly after: number }
  /** The whole file is sent although a range was requested. */
  | { readonly kind: "whole" }
  /** The range starts one byte too early. */
  | { readonly kind: "shifted" }
  /** One byte of the body is changed. */
  | { readonly kind: "changed" };

export interface SeenRequest {
  readonly server: "hub" | "cdn";
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/** The number of bytes written in one turn of the event loop. */
const PIECE_BYTES = 8_192;

/**
 * A hub that behaves like the real one. Large files redirect to a server of another origin that supports
 * ranges; small files redirect to another path of the hub. The headers are as recorded in
 * `src/models/README.md`.
 */
export class LocalHub {
  readonly requests: SeenRequest[] = [];
  /** Chooses the fault of each response that has a body; null for none. */
  fault: (request: SeenRequest) => Fault | null = () => null;
  /** The number of body bytes sent so far. */
  sentBytes = 0;
  /** Called after each piece is sent. */
  onSent: () => void = () => {};
  readonly #repositories: Readonly<Record<string, Repository>>;
  readonly #hub: Server;
  readonly #cdn: Server;

  private constructor(repositories: Readonly<Record<string, Repository>>) {
    this.#repositories = repositories;
    this.#hub = createServer((request, response) => this.#answerHub(request, response));
    this.#cdn = createServer((request, response) => this.#answerCdn(request, response));
  }

  static async start(repositories: Readonly<Record<string, Repository>>): Promise<LocalHub> {
    const hub = new LocalHub(repositories);
    for (const server of [hub.#hub, hub.#cdn]) {
      await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
    }
    return hub;
  }

  get endpoint(): string {
    return originOf(this.#hub);
  }

  /** The requests for files on the server that the hub redirects to. */
  get downloads(): readonly SeenRequest[] {
    return this.requests.filter(({ server }) => server === "cdn");
  }

  async stop(): Promise<void> {
    for (const server of [this.#hub, this.#cdn]) {
      server.closeAllConnections();
      await new Promise<void>((settle) => server.close(() => settle()));
    }
  }

  #answerHub(request: IncomingMessage, response: ServerResponse): void {
    const seen = this.#note("hub", request);
    const cached = /^\/api\/resolve-cache\/models\/([^/]+\/[^/]+)\/([^/]+)\/(.+)$/.exec(seen.path);
    if (cached !== null) {
      const file = this.#repositories[cached[1]!]?.files[cached[3]!];
      if (file !== undefined) this.#send(seen, response, file, sha1(file));
      else refuse(response, 404, "EntryNotFound");
      return;
    }
    const [, name = "", revision = "", path = ""] =
      /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(seen.path) ?? [];
    const repository = this.#repositories[name];
    const hasToken = request.headers.authorization === `Bearer ${repository?.token}`;
    // The hub does not reveal to unknown users whether a repository exists.
    if (repository === undefined) {
      refuse(response, 401, "RepoNotFound");
      return;
    }
    if (repository.token !== undefined && !hasToken) {
      refuse(response, 401, "GatedRepo");
      return;
    }
    const { commit, files } = repository;
    if (revision !== "main" && revision !== commit) {
      refuse(response, 404, "RevisionNotFound");
      return;
    }
    const file = files[decodeURIComponent(path)];
    if (file === undefined) {
      refuse(response, 404, "EntryNotFound");
      return;
    }
    if (path.endsWith(".txt") || path.endsWith(".json")) {
      response.writeHead(307, {
        "x-repo-commit": commit,
        etag: `"${sha1(file)}"`,
        location: `/api/resolve-cache/models/${name}/${commit}/${path}`,
      });
      response.end();
      return;
    }
    response.writeHead(302, {
      "x-repo-commit": commit,
      "x-linked-size": String(file.length),
      "x-linked-etag": `"${sha256(file)}"`,
      location: `${originOf(this.#cdn)}/${name}/${path}?Expires=1781098782&Signature=x`,
    });
    response.end("Found. Redirecting");
  }

  #answerCdn(request: IncomingMessage, response: ServerResponse): void {
    const seen = this.#note("cdn", request);
    const [, name = "", path = ""] = /^\/([^/]+\/[^/]+)\/([^?]+)/.exec(seen.path) ?? [];
    const file = this.#repositories[name]?.files[decodeURIComponent(path)];
    if (file === undefined) {
      refuse(response, 403, "AccessDenied");
      return;
    }
    this.#send(seen, response, file, sha256(file));
  }

  #note(server: SeenRequest["server"], { url = "", headers }: IncomingMessage): SeenRequest {
    const seen = { server, path: url, headers };
    this.requests.push(seen);
    return seen;
  }

  #send(seen: SeenRequest, response: ServerResponse, file: Uint8Array, tag: string): void {
    const fault = this.fault(seen);
    if (fault?.kind === "status") {
      response.writeHead(fault.status, fault.headers);
      response.end();
      return;
    }
    const etag = `"${tag}"`;
    const wanted = Number(/^bytes=(\d+)-$/.exec(seen.headers.range ?? "")?.[1] ?? 0);
    const isSame = seen.headers["if-range"] === undefined || seen.headers["if-range"] === etag;
    const from = fault?.kind === "whole" || !isSame ? 0 : wanted;
    if (from > file.length || (from > 0 && from === file.length)) {
      response.writeHead(416, { "content-range": `bytes */${file.length}` });
      response.end();
      return;
    }
    const start = fault?.kind === "shifted" && from > 0 ? from - 1 : from;
    const body = Buffer.from(file.subarray(start));
    if (fault?.kind === "changed") body[body.length >> 1]! ^= 1;
    response.writeHead(from > 0 ? 206 : 200, {
      "content-length": body.length,
      "accept-ranges": "bytes",
      etag,
      ...(from > 0 ? { "content-range": `bytes ${start}-${file.length - 1}/${file.length}` } : {}),
    });
    this.#write(response, body, fault);
  }

  #cut(response: ServerResponse, isTaken: () => boolean): void {
    if (isTaken() || response.destroyed) response.destroy();
    else setImmediate(() => this.#cut(response, isTaken));
  }

  #write(response: ServerResponse, body: Buffer, fault: Fault | null): void {
    const stopsAt = fault?.kind === "cut" || fault?.kind === "stall" ? fault.after : body.length;
    let at = 0;
    const next = (): void => {
      if (response.destroyed) return;
      if (at >= stopsAt) {
        if (fault?.kind === "cut") {
          this.#cut(response, fault.isTaken);
          return;
        }
        if (fault?.kind !== "stall") response.end();
        return;
      }
      const piece = body.subarray(at, Math.min(stopsAt, at + PIECE_BYTES));
      at += piece.length;
      response.write(piece, () => {
        this.sentBytes += piece.length;
        this.onSent();
        setImmediate(next);
      });
    };
    next();
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function sha1(bytes: Uint8Array): string {
  return createHash("sha1").update(bytes).digest("hex");
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { "x-error-code": code });
  response.end();
}
