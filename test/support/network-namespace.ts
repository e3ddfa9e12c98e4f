import { execFileSync, spawnSync } from "node:child_process";

/** The reason why there are no namespaces, or false. They need root, and not every container permits them. */
export const WITHOUT_NAMESPACES: string | false = whyNot();

/**
 * Returns the reason why packets cannot be delayed and lost here, or false. The kernel needs a module for
 * that.
 */
export function whyNoImpairment(): string | false {
  if (WITHOUT_NAMESPACES !== false) return WITHOUT_NAMESPACES;
  const name = `dauys-try-tc-${process.pid}`;
  spawnSync("ip", ["netns", "add", name]);
  const { status } = spawnSync("tc", [
    "-n",
    name,
    "qdisc",
    "add",
    "dev",
    "lo",
    "root",
    "netem",
    "delay",
    "1ms",
  ]);
  spawnSync("ip", ["netns", "delete", name]);
  return status === 0 ? false : "this kernel has no sch_netem";
}

/** A separate network, reached over links that can be cut. Only one can exist for each process. */
export class NetworkNamespace {
  readonly #name = `dauys-${process.pid}`;
  /** The prefix of commands that run inside. */
  readonly within: readonly string[] = ["ip", "netns", "exec", this.#name];

  constructor() {
    ip("netns", "add", this.#name);
    ip("-n", this.#name, "link", "set", "lo", "up");
  }

  /** Adds a link. @param index identifies the link @returns the address inside the namespace */
  link(index: number): string {
    const [outside, inside] = [this.#outside(index), this.#inside(index)];
    ip("link", "add", "name", outside, "type", "veth", "peer", "name", inside, "netns", this.#name);
    ip("address", "add", `${address(index, 1)}/30`, "dev", outside);
    ip("link", "set", outside, "up");
    ip("-n", this.#name, "address", "add", `${address(index, 2)}/30`, "dev", inside);
    ip("-n", this.#name, "link", "set", inside, "up");
    return address(index, 2);
  }

  /** Cuts a link without a signal to either side. */
  cut(index: number): void {
    ip("-n", this.#name, "link", "set", this.#inside(index), "down");
  }

  mend(index: number): void {
    ip("-n", this.#name, "link", "set", this.#inside(index), "up");
  }

  /** Delays and loses packets of a link, in both directions. @see tc-netem(8) */
  impair(
    index: number,
    { delayMs, lossPercent }: { readonly delayMs: number; readonly lossPercent: number },
  ): void {
    const rule = ["root", "netem", "delay", `${delayMs}ms`, "loss", `${lossPercent}%`];
    tc("qdisc", "add", "dev", this.#outside(index), ...rule);
    tc("-n", this.#name, "qdisc", "add", "dev", this.#inside(index), ...rule);
  }

  repair(index: number): void {
    tc("qdisc", "del", "dev", this.#outside(index), "root");
    tc("-n", this.#name, "qdisc", "del", "dev", this.#inside(index), "root");
  }

  /** Deletes the namespace and its links. */
  remove(): void {
    ip("netns", "delete", this.#name);
  }

  #outside(index: number): string {
    return `d${process.pid}o${index}`;
  }

  #inside(index: number): string {
    return `d${process.pid}i${index}`;
  }
}

/**
 * Returns the address of one side of a link, in a range for benchmarks (RFC 2544) that depends on the
 * process.
 */
function address(index: number, side: number): string {
  return `198.${18 + (process.pid & 1)}.${(process.pid >> 1) & 255}.${4 * index + side}`;
}

function tc(...args: readonly string[]): void {
  execFileSync("tc", args, { stdio: ["ignore", "ignore", "pipe"] });
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}

function whyNot(): string | false {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "network namespaces need root on Linux";
  const name = `dauys-try-${process.pid}`;
  if (spawnSync("ip", ["netns", "add", name]).status !== 0) return "no network namespaces here (iproute2)";
  const hasLinks =
    spawnSync("ip", ["-n", name, "link", "add", "name", "one", "type", "veth", "peer", "name", "other"])
      .status === 0;
  spawnSync("ip", ["netns", "delete", name]);
  return hasLinks ? false : "no virtual links here";
}
