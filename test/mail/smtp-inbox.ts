import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

interface ReceivedMail {
  readonly recipients: readonly string[];
  /** The headers by lower-case name, unfolded and decoded, each with all its values. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly text: string;
}

export interface SmtpInbox {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  readonly attempts: () => number;
  /** Rejects the next messages with these SMTP codes. */
  reject(...codes: readonly number[]): void;
  close(): Promise<void>;
}

/** Starts a mail server on this machine that stores the messages it receives. */
export async function startInbox(): Promise<SmtpInbox> {
  const mails: ReceivedMail[] = [];
  const codes: number[] = [];
  let attempts = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    logger: false,
    onData(stream, session, done) {
      attempts++;
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const code = codes.shift();
        if (code !== undefined) {
          done(Object.assign(new Error("rejected by the test"), { responseCode: code }));
          return;
        }
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ recipients, ...parse(Buffer.concat(chunks).toString("utf8")) });
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    attempts: () => attempts,
    reject: (...more) => codes.push(...more),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function parse(message: string): Pick<ReceivedMail, "headers" | "text"> {
  const end = message.indexOf("\r\n\r\n");
  const headers = new Map<string, string[]>();
  for (const line of message
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n")) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...(headers.get(name) ?? []), decodeWords(line.slice(colon + 1).trim())]);
  }
  const body = message.slice(end + 4);
  const [encoding] = headers.get("content-transfer-encoding") ?? [];
  if (encoding === "base64") return { headers, text: Buffer.from(body, "base64").toString("utf8") };
  return { headers, text: encoding === "quoted-printable" ? quotedPrintable(body) : body };
}

/** Decodes the encoded words of a header (RFC 2047). */
function decodeWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === "B"
        ? Buffer.from(text, "base64").toString("utf8")
        : quotedPrintable(text.replaceAll("_", " ")),
    );
}

function quotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
