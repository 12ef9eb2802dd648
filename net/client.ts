/**
 * Dials the orchestrator.
 *
 * Owns: `dialWebSocket` and the sentence for an orchestrator that cannot be reached. Refuses: retries and sessions (node.ts),
 * a bound on what is sent (the session's window keeps what the socket buffers below `windowBytes` plus a frame).
 */

import { WebSocket } from "ws";
import { defaultNetLimits } from "./limits.ts";
import { joinSocket, type Socket, socketOptions } from "./socket_wire.ts";
import type { DialHandler, Wire } from "./wire.ts";

export function dialWebSocket(url: string, handler: DialHandler): Wire {
  const socket: Socket = new WebSocket(url, { ...socketOptions, maxPayload: defaultNetLimits.frameBytes });
  socket.on("open", () => handler.opened());
  return joinSocket(socket, { handle: () => handler, explain: (error) => unreachable(url, error) });
}

function unreachable(url: string, error: Error): string {
  return `Cannot reach the orchestrator at ${url}: ${error.message}; check that it runs there and that the address is right`;
}
