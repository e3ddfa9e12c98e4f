import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { pagePath } from "../paths.js";

const BASE = "/console";

/** The part of the address after `/console/`. */
export function usePath(): string {
  const [path, setPath] = useState(currentPath());
  useEffect(() => {
    const update = () => setPath(currentPath());
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  return path;
}

export function navigate(path: string): void {
  history.pushState(null, "", `${BASE}/${path}`);
  dispatchEvent(new PopStateEvent("popstate"));
  scrollTo(0, 0);
  // Makes screen readers announce the new page.
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}

interface LinkProps {
  readonly to: string;
  readonly class?: string;
  readonly isCurrent?: boolean;
  readonly children: ComponentChildren;
}

export function Link({ to, class: className, isCurrent = false, children }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a
      href={`${BASE}/${to}`}
      class={className}
      aria-current={isCurrent ? "page" : undefined}
      onClick={follow}
    >
      {children}
    </a>
  );
}

export function currentPath(): string {
  return pagePath(location.pathname);
}
