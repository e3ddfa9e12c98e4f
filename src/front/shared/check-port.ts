import { once } from "node:events";
import { createServer } from "node:net";

const LAST_PORT = 65_535;

/** An address on which a service will listen, and the names of its settings. */
export interface ListeningAddress {
  readonly host: string;
  /** 0 stands for any free port. */
  readonly port: number;
  readonly settings: { readonly host: string; readonly port: string };
}

/**
 * Listens for a moment, so that a taken port is reported before models are loaded. If another program takes
 * the port afterwards, the front reports it.
 *
 * @throws {Error} with the address, the reason and the setting to change
 */
export async function checkPort({ host, port, settings }: ListeningAddress): Promise<void> {
  if (port === 0) return;
  const server = createServer();
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      EADDRINUSE: `another program listens there; stop it, or set ${settings.port} to another port, such as ${neighbour(port)}`,
      EACCES: `this user lacks the permission; set ${settings.port} to a port from 1024 on`,
      EADDRNOTAVAIL: `${settings.host} is not an address of this machine`,
      ENOTFOUND: `${settings.host} has no address`,
    };
    throw new Error(`Cannot listen on ${host}:${port}: ${reasons[code] ?? message}`, { cause: error });
  }
  server.close();
  await once(server, "close");
}

function neighbour(port: number): number {
  return port < LAST_PORT ? port + 1 : port - 1;
}
