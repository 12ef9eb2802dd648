/**
 * A remote party's error, as a value. `code` is for branching, `detail` for reading. Owns the closed list of codes. A
 * fault is answered with a `reject` message, never with an exception.
 */

export type FaultCode =
  | "malformedFrame" // not a frame: truncated, too long, bad prefix
  | "malformedMessage" // not a message of this version
  | "limitExceeded" // well-formed, but larger or faster than config allows
  | "versionMismatch" // other protocol version
  | "unauthenticated" // bad signature, signature of something else, replayed nonce, wrong run or role
  | "notAdmitted" // valid signature, but this run does not admit this node
  | "unknownTask" // result for a task that is not leased to the sender
  | "staleResult" // late duplicate, or an answer for a closed step or round
  | "badBlob" // missing blob, wrong hash or size
  | "uploadFailed" // an upload to the orchestrator was refused, there or by a proxy on the way
  | "tooLarge" // a stage that the node's device cannot hold
  | "badNumbers" // NaN, infinity, wrong length
  | "wrongPhase"; // valid message, not expected now

export interface Fault {
  readonly code: FaultCode;
  readonly detail: string;
  readonly upload?: RefusedUpload; // with the code uploadFailed
}

/** The result of an upload, as its sender reports it. */
export interface RefusedUpload {
  readonly status: number | null; // of the HTTP answer; null: none came
  readonly bytes: number; // of the request
  readonly clockMs: number; // the answer's date minus this node's clock; 0: none came
}

export const fault = (code: FaultCode, detail: string): Fault => ({ code, detail });

/** A parsed value, or the fault. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (code: FaultCode, detail: string): { readonly ok: false; readonly fault: Fault } => ({
  ok: false,
  fault: fault(code, detail),
});
