import { FLOOD_CODE } from "../../../core/domain/close-codes.js";
import type { ClosingMessage, FrontSocket } from "../../../core/ports/front.js";

const UNTOLD: ClosingMessage = { messages: [], code: FLOOD_CODE, reason: "too many messages" };

/**
 * Says the last words and closes. A front says them itself, as the first to know of a flood: the native library takes a
 * read of half a megabyte apart until the socket closes, and an owner in another thread would be heard too late.
 */
export function sayFarewell(socket: FrontSocket, { messages, code, reason }: ClosingMessage = UNTOLD): void {
  for (const message of messages) {
    if (typeof message === "string") socket.sendText(message);
    else socket.sendBinary(message);
  }
  socket.close(code, reason);
}
