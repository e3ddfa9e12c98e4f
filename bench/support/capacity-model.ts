/** Measurements of one machine, as inputs for planning a fleet. Rates are per second. */
export interface CapacityInputs {
  /** Number of live sessions on one worker, which is one core. */
  readonly sessionsPerWorker: number;
  /** Number of live sockets on one front. */
  readonly sessionsPerFront: number;
  readonly bytesPerSecond: number;
  readonly framesPerSecond: number;
  /** CPU time of a bus server for one frame, bundled, with TLS. */
  readonly busMicrosPerFrame: number;
  /** Additional CPU time when servers of a cluster forward frames to each other. */
  readonly busRouteFactor: number;
  readonly busServerCores: number;
  readonly busServers: number;
  /** Bandwidth of one server's network, in each direction. */
  readonly networkGbits: number;
  /** Number of sessions in a cell; cells share only the database. */
  readonly cellSessions: number;
  readonly sessionSeconds: number;
  /** Number of seconds of audio for which credits are held ahead. */
  readonly holdSeconds: number;
  /**
   * Number of openings, extensions and charges per second that one PostgreSQL handles if services batch many
   * into a statement.
   */
  readonly ledgerPerSecond: number;
  /** Number of these per second for one organization, whose account row is locked each time. */
  readonly ledgerPerSecondOfOne: number;
  /**
   * CPU time per hold of the journal: once a second, each service stores the costs of its open holds as one
   * value.
   */
  readonly journalMicrosPerHold: number;
  /** Number of PostgreSQL cores that the journal may use. */
  readonly journalCores: number;
  readonly synthesisRealTimeFactor: number;
  readonly synthesisStreamsPerSession: number;
}

/** Resources that a number of sessions needs. */
export interface CapacityRow {
  readonly sessions: number;
  readonly cells: number;
  readonly fronts: number;
  readonly engineCores: number;
  readonly audioGbits: number;
  readonly busCores: number;
  readonly synthesisStreams: number;
  readonly synthesisCores: number;
  readonly ledgerPerSecond: number;
  /** Limits below this number of sessions, lowest first; empty if the design needs no change. */
  readonly walls: readonly Wall[];
}

/** A limit of the design. */
interface Wall {
  readonly name: string;
  /** Number of sessions at which it is reached. */
  readonly sessions: number;
  readonly remedy: string;
}

/** @returns the resources for this many live sessions, plus a tenth as many speech streams */
export function plan(sessions: number, inputs: CapacityInputs): CapacityRow {
  const { framesPerSecond, busMicrosPerFrame, synthesisStreamsPerSession, synthesisRealTimeFactor } = inputs;
  const synthesisStreams = sessions * synthesisStreamsPerSession;
  return {
    sessions,
    cells: Math.ceil(sessions / inputs.cellSessions),
    fronts: Math.ceil(sessions / inputs.sessionsPerFront),
    engineCores: Math.ceil(sessions / inputs.sessionsPerWorker),
    audioGbits: (sessions * inputs.bytesPerSecond * 8) / 1e9,
    busCores: (sessions * framesPerSecond * busMicrosPerFrame) / 1e6,
    synthesisStreams,
    synthesisCores: Math.ceil(synthesisStreams * synthesisRealTimeFactor),
    ledgerPerSecond: sessions * ledgerRate(inputs),
    walls: wallsOf(inputs).filter((wall) => wall.sessions < sessions),
  };
}

/** Lists every limit, lowest first. */
export function wallsOf(inputs: CapacityInputs): readonly Wall[] {
  const rate = ledgerRate(inputs);
  const busShare = (inputs.framesPerSecond * inputs.busMicrosPerFrame * inputs.busRouteFactor) / 1e6;
  const busBits = inputs.bytesPerSecond * 8;
  const walls: Wall[] = [
    {
      name: "one front's thread",
      sessions: inputs.sessionsPerFront,
      remedy: "more fronts behind one PostgreSQL",
    },
    {
      name: "one organization's account",
      sessions: inputs.ledgerPerSecondOfOne / rate,
      remedy: "one hold for each organization and front, from which sessions draw",
    },
    {
      name: "one bus cluster's cores",
      sessions: (inputs.busServers * inputs.busServerCores) / busShare,
      remedy: "cells",
    },
    {
      name: "one bus cluster's network",
      sessions: (inputs.busServers * inputs.networkGbits * 1e9) / (busBits * inputs.busRouteFactor),
      remedy: "cells",
    },
    {
      name: "ledger",
      sessions: inputs.ledgerPerSecond / rate,
      remedy: "organizations spread over several PostgreSQL",
    },
    {
      name: "journals of services",
      sessions: (inputs.journalCores * 1e6) / inputs.journalMicrosPerHold,
      remedy: "organizations spread over several PostgreSQL",
    },
  ];
  return walls.sort((one, other) => one.sessions - other.sessions);
}

/** Returns the openings, charges and further holds of one session per second. */
function ledgerRate({ sessionSeconds, holdSeconds }: CapacityInputs): number {
  return 2 / sessionSeconds + 1 / holdSeconds;
}
