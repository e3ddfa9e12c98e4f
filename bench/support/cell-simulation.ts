import { uniformRandom } from "../../core/domain/statistics/uniform-random.js";

/** A front's rule for placing a session. */
export type Rule = "two choices" | "least told";

export interface CellOptions {
  readonly seed: number;
  /** Approximate number of concurrent live sessions. */
  readonly sessions: number;
  readonly fronts: number;
  readonly nodes: number;
  readonly sessionsPerNode: number;
  /** Number of nodes on which each front has lanes. */
  readonly lanesPerFront: number;
  readonly sessionSeconds: number;
  readonly seconds: number;
  /** Interval at which nodes are lost once the cell is full. */
  readonly lossEverySeconds: number;
  /** Time until a replacement node starts. */
  readonly replacedAfterSeconds: number;
  readonly rule: Rule;
}

/**
 * Observations of one cell, once it is full. A load is a node's sessions relative to the mean of all nodes
 * that fronts know.
 */
export interface CellFigures {
  /** Load of the fullest node at each observation. */
  readonly highestShares: readonly number[];
  /** Largest number of sessions that one node received after each loss, relative to an even share. */
  readonly herds: readonly number[];
  /** Largest load of a node, in sessions. */
  readonly mostOnNode: number;
  readonly refused: number;
  readonly placed: number;
}

/** Interval at which fronts receive loads. */
const BEAT_SECONDS = 0.5;
const TICK_SECONDS = 0.1;
const TICKS_PER_BEAT = Math.round(BEAT_SECONDS / TICK_SECONDS);
const LOOK_TICKS = 10;

interface Node {
  used: number;
  /** Load reported in the last heartbeat. */
  reported: number;
  isLost: boolean;
}

interface Front {
  readonly lanes: Node[];
  /** Number of sessions that the front itself has placed on a node since its last heartbeat. */
  readonly since: Map<Node, number>;
  /** Number of sessions, by node. */
  readonly sessions: Map<Node, number>;
}

/**
 * Simulates one cell: sessions arrive at a random front, stay for an exponentially distributed time, and each
 * is placed on the node that the front's rule chooses among its lanes, by heartbeats up to half a second old.
 * Sessions of a lost node are placed again immediately, and fronts take lanes on new nodes.
 */
export function simulateCell(options: CellOptions): CellFigures {
  const random = uniformRandom(options.seed);
  const nodes = Array.from({ length: options.nodes }, newNode);
  const fronts = Array.from(
    { length: options.fronts },
    (): Front => ({ lanes: [], since: new Map(), sessions: new Map() }),
  );
  for (const front of fronts)
    while (front.lanes.length < Math.min(options.lanesPerFront, options.nodes)) addLane(front, nodes, random);
  const highestShares: number[] = [];
  const herds: number[] = [];
  const returning: number[] = [];
  let [mostOnNode, refused, placed] = [0, 0, 0];
  const place = (front: Front): Node | null => {
    const node = choose(front, options, random);
    if (node === null) {
      refused++;
      return null;
    }
    placed++;
    node.used++;
    front.since.set(node, (front.since.get(node) ?? 0) + 1);
    front.sessions.set(node, (front.sessions.get(node) ?? 0) + 1);
    return node;
  };
  const full = Math.ceil((5 * options.sessionSeconds) / TICK_SECONDS);
  const ticks = full + Math.ceil(options.seconds / TICK_SECONDS);
  for (let tick = 0; tick < ticks; tick++) {
    const arrivals = poisson((options.sessions / options.sessionSeconds) * TICK_SECONDS, random);
    for (let one = 0; one < arrivals; one++) place(fronts[Math.floor(random() * fronts.length)]!);
    for (const front of fronts) endSome(front, TICK_SECONDS / options.sessionSeconds, random);
    if (tick % TICKS_PER_BEAT === 0) {
      for (const node of nodes) node.reported = node.used;
      for (const front of fronts) front.since.clear();
    }
    if (returning.at(0) === tick) {
      returning.shift();
      joinNode(nodes, fronts, random);
    }
    const isLoss = tick > full && (tick - full) % Math.round(options.lossEverySeconds / TICK_SECONDS) === 0;
    if (isLoss) {
      herds.push(loseNode({ nodes, fronts, place, random }));
      returning.push(tick + Math.round(options.replacedAfterSeconds / TICK_SECONDS));
    }
    if (tick > full && tick % LOOK_TICKS === 0) {
      const known = nodes.filter((node) => fronts.some(({ lanes }) => lanes.includes(node)));
      const mean = known.reduce((sum, { used }) => sum + used, 0) / known.length;
      const most = Math.max(...known.map(({ used }) => used));
      highestShares.push(most / mean);
      mostOnNode = Math.max(mostOnNode, most);
    }
  }
  return { highestShares, herds, mostOnNode, refused, placed };
}

/** Loses a node with its sessions: each front places its sessions again, then takes another lane. */
function loseNode(cell: {
  readonly nodes: Node[];
  readonly fronts: readonly Front[];
  readonly place: (front: Front) => Node | null;
  readonly random: () => number;
}): number {
  const { nodes, fronts, place, random } = cell;
  const lost = nodes.splice(Math.floor(random() * nodes.length), 1)[0]!;
  lost.isLost = true;
  const before = new Map(nodes.map((node) => [node, node.used]));
  const moved = lost.used;
  for (const front of fronts) {
    const at = front.lanes.indexOf(lost);
    if (at >= 0) front.lanes.splice(at, 1);
    const sessions = front.sessions.get(lost) ?? 0;
    front.sessions.delete(lost);
    for (let one = 0; one < sessions; one++) place(front);
    if (at >= 0) addLane(front, nodes, random);
  }
  const gained = nodes.map((node) => node.used - before.get(node)!);
  return moved === 0 ? 1 : Math.max(...gained) / (moved / nodes.length);
}

/**
 * Adds a node: as many fronts as have a lane on any other node take one there, in place of their fullest
 * lane.
 */
function joinNode(nodes: Node[], fronts: readonly Front[], random: () => number): void {
  const joined = newNode();
  nodes.push(joined);
  for (const { lanes } of fronts) {
    if (random() >= lanes.length / nodes.length) continue;
    const fullest = lanes.reduce((most, node) => (node.reported > most.reported ? node : most));
    // The sessions there stay until they end.
    lanes[lanes.indexOf(fullest)] = joined;
  }
}

/** Adds a lane: also chooses between two random nodes, among those on which the front has no lane. */
function addLane({ lanes }: Front, nodes: readonly Node[], random: () => number): void {
  const others = nodes.filter((node) => !lanes.includes(node));
  const [one, other] = [pick(others, random), pick(others, random)];
  if (one === null || other === null) return;
  lanes.push(other.reported < one.reported ? other : one);
}

function choose(
  { lanes, since }: Front,
  { rule, sessionsPerNode }: CellOptions,
  random: () => number,
): Node | null {
  const load = (node: Node) => node.reported + (since.get(node) ?? 0);
  const open = lanes.filter((node) => load(node) < sessionsPerNode);
  // All fronts receive the same heartbeats, so until the next one they all choose the same node.
  if (rule === "least told") {
    return open.reduce<Node | null>(
      (least, node) => (least === null || node.reported < least.reported ? node : least),
      null,
    );
  }
  const [one, other] = [pick(open, random), pick(open, random)];
  if (one === null || other === null) return one;
  return load(other) < load(one) ? other : one;
}

/** Ends each session with the same probability. */
function endSome(front: Front, probability: number, random: () => number): void {
  for (const [node, sessions] of front.sessions) {
    const ended = Math.min(sessions, poisson(sessions * probability, random));
    node.used -= ended;
    front.sessions.set(node, sessions - ended);
  }
}

function newNode(): Node {
  return { used: 0, reported: 0, isLost: false };
}

function pick<T>(list: readonly T[], random: () => number): T | null {
  return list[Math.floor(random() * list.length)] ?? null;
}

/**
 * @see Knuth, The Art of Computer Programming, 3.4.1: products of uniform numbers; for the small means of a
 *   tick
 */
function poisson(mean: number, random: () => number): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count++;
  return count;
}
