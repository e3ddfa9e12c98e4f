import { whyNoMounts } from "../attack/support/small-disk.js";
import { WITHOUT_NAMESPACES, whyNoImpairment } from "../support/network-namespace.js";
import { WITHOUT_FAKE_CLOCK } from "./fake-clock.js";
import { FAR, type Fleet, kill } from "./fleet.js";
import type { FaultKind } from "./schedule.js";

/** Values as between two data centres. The delay applies in one direction, the loss to packets or pieces. */
const DELAY_MS = 50;
const LOSS_PERCENT = 2;
const JUMP_SECONDS = 7_200;

/** Ends a fault. The fleet may take some time to be sound again. */
type Heal = () => Promise<void>;

/** Returns the reason why this machine cannot have a kind of fault, or false if it can. */
export function whyNot(kind: FaultKind): string | false {
  if (kind === "network cut") return WITHOUT_NAMESPACES;
  if (kind === "network lossy") return whyNoImpairment();
  if (kind === "disk full") return whyNoMounts() ?? false;
  if (kind.startsWith("clock jumps")) return WITHOUT_FAKE_CLOCK;
  return false;
}

/** Applies a fault. @returns the function that heals it */
export async function apply(fleet: Fleet, kind: FaultKind, target: number): Promise<Heal> {
  return await FAULTS[kind](fleet, target);
}

const FAULTS: Readonly<Record<FaultKind, (fleet: Fleet, target: number) => Promise<Heal>>> = {
  "engine killed": async (fleet, target) => {
    const engine = fleet.engines[target]!;
    await engine.process.kill();
    return () => fleet.startEngineAgain(engine);
  },
  "engine frozen": async ({ engines }, target) => freeze(engines[target]!.process.child.pid!),
  "gateway killed": async (fleet, target) => {
    const gateway = fleet.gateways[target]!;
    await kill(gateway.process);
    return () => fleet.startGatewayAgain(gateway);
  },
  "gateway frozen": async ({ gateways }, target) => freeze(gateways[target]!.process.child.pid!),
  "bus server killed": async ({ bus }, target) => {
    const server = bus[target]!;
    await server.kill();
    return () => server.start();
  },
  "bus server frozen": async ({ bus }, target) => {
    bus[target]!.freeze();
    return async () => bus[target]!.thaw();
  },
  "network cut": async ({ network }) => {
    network!.cut(FAR);
    return async () => network!.mend(FAR);
  },
  "network lossy": async ({ network }) => {
    network!.impair(FAR, { delayMs: DELAY_MS, lossPercent: LOSS_PERCENT });
    return async () => network!.repair(FAR);
  },
  "network slow": async ({ slowLink }) => {
    slowLink.change({ delayMs: DELAY_MS, lossShare: LOSS_PERCENT / 100 });
    return async () => slowLink.change({ delayMs: 0, lossShare: 0 });
  },
  "database primary killed": async ({ database }) => {
    await database.losePrimary();
    return async () => {
      await database.promote();
      await database.rejoin();
    };
  },
  "database primary frozen": async ({ database }) => {
    const resume = await database.suspendPrimary();
    return async () => resume();
  },
  "database standby killed": async ({ database }) => {
    await database.loseStandby();
    return () => database.restartStandby();
  },
  "disk full": async ({ gateways }, target) => {
    const disk = gateways[target]!.disk!;
    await disk.fill(0);
    return () => disk.empty();
  },
  "clock jumps ahead": async ({ gateways }, target) => jump(gateways[target]!.clock, JUMP_SECONDS),
  "clock jumps back": async ({ gateways }, target) => jump(gateways[target]!.clock, -JUMP_SECONDS),
  "rolling upgrade": async (fleet) => {
    for (const engine of fleet.engines) {
      requireEnd(await engine.process.stop(), engine.process);
      await fleet.startEngineAgain(engine);
    }
    for (const gateway of fleet.gateways) {
      requireEnd(await gateway.process.stop(), gateway.process);
      await fleet.startGatewayAgain(gateway);
    }
    return async () => {};
  },
};

async function freeze(pid: number): Promise<Heal> {
  process.kill(pid, "SIGSTOP");
  return async () => {
    process.kill(pid, "SIGCONT");
  };
}

async function jump(clock: { jumpTo(offsetSeconds: number): void }, seconds: number): Promise<Heal> {
  clock.jumpTo(seconds);
  return async () => clock.jumpTo(0);
}

function requireEnd(code: number | null, { output }: { output(): string }): void {
  if (code !== 0) throw new Error(`a process that was stopped ended with ${code}:\n${output()}`);
}
