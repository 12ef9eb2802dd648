/**
 * What a remote party did wrong, as a value. `code` is for branching, `detail` for reading.
 * Owns the closed list of codes. A fault is answered with a `reject` message, never with an exception.
 */

export type FaultCode =
  | "malformedFrame" // bytes that are no frame: truncated, too long, bad prefix
  | "malformedMessage" // a header that is no message of this version
  | "limitExceeded" // well-formed, but larger or faster than config allows
  | "versionMismatch" // other protocol version
  | "unauthenticated" // bad signature, one of something else, replayed nonce, wrong run or role
  | "notAdmitted" // signature fine, but this run does not take this node
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

/** What became of an upload, by the word of the node that sent it. */
export interface RefusedUpload {
  readonly status: number | null; // of the HTTP answer; null: none came
  readonly bytes: number; // of the request
  readonly clockMs: number; // the answer's date less this node's clock; 0: none came
}

export const fault = (code: FaultCode, detail: string): Fault => ({ code, detail });

/** A parsed value, or why there is none. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (code: FaultCode, detail: string): { readonly ok: false; readonly fault: Fault } => ({
  ok: false,
  fault: fault(code, detail),
});
