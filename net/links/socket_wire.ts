/**
 * A `ws` socket as a wire, for both ends. A connection that does not drain is cut, not waited for.
 *
 * The dialling end uses `ws` too: the runtime's own WebSocket client leaves Nagle's algorithm on, which delayed every
 * message of 5 to 50 kB by 42 ms on loopback (one round trip elsewhere) against 0.1 ms here, and it can be neither
 * paused nor bounded.
 */

import { Buffer } from "node:buffer";
import type { Wire, WireHandler } from "./wire.ts";

/** The package has no types. */
export interface Socket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly isPaused: boolean;
  readonly bufferedAmount: number;
  send(data: Uint8Array): void;
  close(code: number, reason: string): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  on(event: "open", listener: () => void): void;
  on(event: "message", listener: (data: Buffer | Buffer[] | ArrayBuffer, isBinary: boolean) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  on(event: "close", listener: (code: number, reason: Buffer) => void): void;
}

export const socketOptions = {
  perMessageDeflate: false,
  closeTimeout: 2_000, // ms; a peer that does not answer a close is gone
  /**
   * A mask of zeros, which `ws` skips. Masks keep browser scripts from writing requests that a proxy would answer; no
   * script chooses our bytes. Unmasking took 0.7 of the 1.7 processor seconds that an orchestrator spent per GB
   * relayed.
   */
  generateMask: (mask: Uint8Array) => void mask.fill(0),
} as const;

/** If more than this is waiting in a socket that is being closed, its peer is not reading. */
const drainedBytes = 1024 * 1024;

export interface SocketFailure {
  readonly reason: string;
  readonly cure?: string;
}

export function joinSocket(
  socket: Socket,
  options: {
    handle: (wire: Wire) => WireHandler;
    explain: (error: Error) => SocketFailure;
    stranger?: { readonly origin: string; readonly trust: () => void };
  },
): Wire {
  let closing: SocketFailure | null = null;
  const wire: Wire = {
    ...options.stranger,
    get bufferedBytes() {
      return socket.bufferedAmount;
    },
    send: (frame) => {
      if (socket.readyState === socket.OPEN) socket.send(frame);
    },
    close: (reason) => {
      closing ??= { reason };
      if (socket.isPaused) socket.resume(); // otherwise its end would never be read
      if (socket.bufferedAmount > drainedBytes) socket.terminate();
      else socket.close(1000, shorten(reason));
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
  const handler = options.handle(wire);
  socket.on("message", (data, isBinary) => {
    if (closing !== null) return;
    if (isBinary) handler.frame(plainBytes(data));
    else socket.close(1003, "text messages are not supported");
  });
  socket.on("error", (error) => closing ??= options.explain(error)); // `close` follows
  socket.on("close", (code, reason) => {
    if (closing !== null) handler.closed(closing.reason, closing.cure);
    else handler.closed(reason.length > 0 ? reason.toString() : `the connection broke (code ${code})`);
  });
  return wire;
}

/** `subarray` and `slice` of a Buffer behave differently from a Uint8Array's. */
function plainBytes(data: Buffer | Buffer[] | ArrayBuffer): Uint8Array {
  const buffer = Array.isArray(data) ? Buffer.concat(data) : data;
  if (buffer instanceof ArrayBuffer) return new Uint8Array(buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function shorten(reason: string): string {
  const bytes = new TextEncoder().encode(reason);
  return bytes.length <= 123 ? reason : new TextDecoder().decode(bytes.subarray(0, 120)).replace(/\uFFFD+$/, "");
}
