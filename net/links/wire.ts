/**
 * The narrow waist below sessions: an ordered pipe of frames that may end at any time.
 *
 * Owns: the interfaces that a WebSocket (server.ts, client.ts) and its in-memory twin (loopback.ts) implement; hub.ts and
 * node.ts know nothing else of sockets. Invariants: a handler is never called from inside a call on its wire; `closed` comes
 * exactly once and is the last call, also after our own `close`.
 */

export interface Wire {
  /** Sent, and not yet taken by the system: these bytes will still be read from the frames they belong to. */
  readonly bufferedBytes: number;
  /** Whom the other end's address stands for (`originOf`); absent where there is none, as inside a process. */
  readonly origin?: string;
  /** Does not copy and does not throw; on a closed wire it does nothing. */
  send(frame: Uint8Array): void;
  close(reason: string): void;
  /** Stops reading where the socket can; a handler may still get what was on the way. */
  pause(): void;
  resume(): void;
  /** The peer has proven who it is: what a socket allows strangers ends here. */
  trust?(): void;
}

export interface WireHandler {
  frame(bytes: Uint8Array): void;
  /** `cure`: what the person can do about it, where that is known. */
  closed(reason: string, cure?: string): void;
}

export interface DialHandler extends WireHandler {
  opened(): void;
}

/** Begins a connection; `closed` also reports that none came about. */
export type Dial = (url: string, handler: DialHandler) => Wire;
