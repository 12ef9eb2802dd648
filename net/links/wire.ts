/**
 * An ordered pipe of frames that may end at any time: a WebSocket (server.ts, client.ts) or its in-memory twin
 * (loopback.ts).
 *
 * A handler is never called from inside a call on its wire; `closed` is called exactly once, as the last call, even
 * after our own `close`.
 */

export interface Wire {
  /** Sent, but not yet accepted by the system: these bytes will still be read from their frames. */
  readonly bufferedBytes: number;
  /** The origin of the other end's address (`originOf`); absent inside a process. */
  readonly origin?: string;
  /** Does not copy and does not throw; on a closed wire it does nothing. */
  send(frame: Uint8Array): void;
  close(reason: string): void;
  /** Stops reading if the socket supports it; a handler may still get data in flight. */
  pause(): void;
  resume(): void;
  /** The peer is authenticated: the socket's limits for strangers no longer apply. */
  trust?(): void;
}

export interface WireHandler {
  frame(bytes: Uint8Array): void;
  closed(reason: string, cure?: string): void;
}

export interface DialHandler extends WireHandler {
  opened(): void;
}

/** `closed` also reports a failed connection. */
export type Dial = (url: string, handler: DialHandler) => Wire;
