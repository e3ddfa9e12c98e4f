import { execFileSync, spawnSync } from "node:child_process";

/** Root alone makes them, and not in every container. */
export const WITHOUT_NAMESPACES: string | false = whyNot();

/** A part of the machine with a network of its own, reached over links that can be cut; for one process's tests at a time. */
export class NetworkNamespace {
  readonly #name = `dauys-${process.pid}`;
  /** Before a command that is to run inside. */
  readonly within: readonly string[] = ["ip", "netns", "exec", this.#name];

  constructor() {
    ip("netns", "add", this.#name);
    ip("-n", this.#name, "link", "set", "lo", "up");
  }

  /** Another link. @param index tells links apart. @returns where what is inside is reached over it */
  link(index: number): string {
    const [outside, inside] = [this.#outside(index), this.#inside(index)];
    ip("link", "add", "name", outside, "type", "veth", "peer", "name", inside, "netns", this.#name);
    ip("address", "add", `${address(index, 1)}/30`, "dev", outside);
    ip("link", "set", outside, "up");
    ip("-n", this.#name, "address", "add", `${address(index, 2)}/30`, "dev", inside);
    ip("-n", this.#name, "link", "set", inside, "up");
    return address(index, 2);
  }

  /** Nothing passes any more, and neither side is told. */
  cut(index: number): void {
    ip("-n", this.#name, "link", "set", this.#inside(index), "down");
  }

  mend(index: number): void {
    ip("-n", this.#name, "link", "set", this.#inside(index), "up");
  }

  /** Its links go with it. */
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

/** Address of a link's side, in a range for benchmarks between networks (RFC 2544); other processes have others. */
function address(index: number, side: number): string {
  return `198.${18 + (process.pid & 1)}.${(process.pid >> 1) & 255}.${4 * index + side}`;
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
