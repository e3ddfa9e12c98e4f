import { ServiceError } from "../domain/errors.js";
import type { Route } from "./route.js";

/** What a path offers. */
export interface RouteMatch {
  /** Null when the path is known and the method is not. */
  readonly route: Route | null;
  /** Methods of the path, for `Allow`. */
  readonly methods: readonly string[];
  /** The path is for pages of this origin only. */
  readonly isSameOrigin: boolean;
}

/** Finds routes by exact path first, then by the longest prefix. */
export class Router {
  readonly #exact = new Map<string, Map<string, Route>>();
  readonly #prefixes = new Map<string, Map<string, Route>>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const isPrefix = route.path.endsWith("/*");
      const table = isPrefix ? this.#prefixes : this.#exact;
      const path = isPrefix ? route.path.slice(0, -1) : route.path;
      const methods = table.get(path) ?? new Map<string, Route>();
      if (methods.has(route.method)) throw new Error(`Cannot serve ${route.method} ${route.path} twice`);
      table.set(path, methods.set(route.method, route));
    }
  }

  /** @throws {ServiceError} `NOT_FOUND` when nothing lives at `path` */
  match(method: string, path: string): RouteMatch {
    const methods = this.#exact.get(path) ?? this.#byPrefix(path);
    if (methods === undefined) throw new ServiceError("NOT_FOUND", "nothing lives at this path");
    const names = [...methods.keys()];
    if (methods.has("GET")) names.push("HEAD");
    names.push("OPTIONS");
    const isSameOrigin = [...methods.values()].some((route) => route.isSameOrigin === true);
    return { route: methods.get(method === "HEAD" ? "GET" : method) ?? null, methods: names, isSameOrigin };
  }

  #byPrefix(path: string): Map<string, Route> | undefined {
    let found: { readonly prefix: string; readonly methods: Map<string, Route> } | undefined;
    for (const [prefix, methods] of this.#prefixes) {
      if (path.startsWith(prefix) && prefix.length > (found?.prefix.length ?? 0)) found = { prefix, methods };
    }
    return found?.methods;
  }
}
