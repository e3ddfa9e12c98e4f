import { CommandError, printNote } from "./command.js";

/** Reads a text to its end, also from a terminal. */
export async function readTypedInput(): Promise<Buffer> {
  if (process.stdin.isTTY) printNote("reading text from the keyboard; press Ctrl-D to finish");
  return readStandardInput();
}

/** Reads a recording to its end. @throws {CommandError} if standard input is a terminal */
export async function readPipedInput(): Promise<Buffer> {
  requirePipedInput();
  return readStandardInput();
}

/** @throws {CommandError} if standard input is a terminal */
export function requirePipedInput(): void {
  if (process.stdin.isTTY)
    throw new CommandError("standard input is a terminal; name a file or pipe audio into the command");
}

async function readStandardInput(): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of process.stdin as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}
