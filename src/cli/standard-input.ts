import { CommandError, printNote } from "./command.js";

/** Collects a text; at a terminal it is typed. */
export async function readTypedInput(): Promise<Buffer> {
  if (process.stdin.isTTY) printNote("the text comes from the keyboard; Ctrl-D ends it");
  return readStandardInput();
}

/** Collects a recording. @throws {CommandError} at a terminal, where it could only be typed */
export async function readPipedInput(): Promise<Buffer> {
  requirePipedInput();
  return readStandardInput();
}

/** @throws {CommandError} when standard input is a terminal */
export function requirePipedInput(): void {
  if (process.stdin.isTTY)
    throw new CommandError("standard input is the keyboard: name a file, or send sound through a pipe");
}

async function readStandardInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}
