/** Measurements of one machine, as inputs for planning a fleet. Rates are per second. */
export interface CapacityInputs {
  /** Live sessions on one worker, which is one core. */
  readonly sessionsPerWorker: number;
  /** Live sockets on one front. */
  readonly sessionsPerFront: number;
  readonly bytesPerSecond: number;
  readonly framesPerSecond: number;
  /** Of a bus server for one frame, bundled, with TLS. */
  readonly busMicrosPerFrame: number;
  /** More of it where servers of a cluster pass frames to each other. */
  readonly busRouteFactor: number;
  readonly busServerCores: number;
  readonly busServers: number;
  /** Of one server's network, each way. */
  readonly networkGbits: number;
  /** Sessions of a cell, which shares nothing with others but the database. */
  readonly cellSessions: number;
  readonly sessionSeconds: number;
  /** Credits are held ahead for this many seconds of audio. */
  readonly holdSeconds: number;
  /**
   * Openings, extensions and charges that one PostgreSQL carries, as services send them: many to a statement.
   */
  readonly ledgerPerSecond: number;
  /** The same for one organization: its account's row is locked. */
  readonly ledgerPerSecondOfOne: number;
  /** Once a second each service stores the costs of its open holds as one value: CPU time per hold. */
  readonly journalMicrosPerHold: number;
  /** Cores of PostgreSQL that the journal may have. */
  readonly journalCores: number;
  readonly synthesisRealTimeFactor: number;
  readonly synthesisStreamsPerSession: number;
}

/** The resources that a number of sessions needs. */
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
  /** From the first that is met on the way up to this many; empty when nothing has to change. */
  readonly walls: readonly Wall[];
}

/** Something that a design stops at. */
interface Wall {
  readonly name: string;
  /** Sessions at which it stands. */
  readonly sessions: number;
  readonly remedy: string;
}

/** @returns the resources for this many live sessions, plus a tenth as many streams of speech */
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

/** Every wall, from the lowest. */
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

/** Openings, charges and further holds of one session in a second. */
function ledgerRate({ sessionSeconds, holdSeconds }: CapacityInputs): number {
  return 2 / sessionSeconds + 1 / holdSeconds;
}
