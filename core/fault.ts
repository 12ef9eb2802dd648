/** A remote party's error, as a value: it is answered with a `reject` message, never with an exception. */

export type FaultCode =
  | "malformedFrame" // not a frame: truncated, too long, bad prefix
  | "malformedMessage"
  | "limitExceeded" // larger or faster than config allows
  | "versionMismatch"
  | "unauthenticated" // also a signature of something else, a replayed nonce, a wrong run or role
  | "notAdmitted"
  | "unknownTask"
  | "staleResult" // duplicate, or an answer for a closed step or round
  | "badBlob" // missing, wrong hash or size
  | "uploadFailed" // by the orchestrator, or a proxy on the way
  | "tooLarge" // the node's device cannot hold the stage
  | "badNumbers" // NaN, infinity, wrong length
  | "wrongPhase"; // valid, but not now

export interface Fault {
  readonly code: FaultCode;
  readonly detail: string;
  readonly upload?: RefusedUpload; // with the code uploadFailed
}

/** As the sender reports it. */
export interface RefusedUpload {
  readonly status: number | null; // of the HTTP answer; null: none came
  readonly bytes: number; // of the request
  readonly clockMs: number; // the answer's date minus this node's clock; 0: none came
}

export const fault = (code: FaultCode, detail: string): Fault => ({ code, detail });

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const refused = (code: FaultCode, detail: string): { readonly ok: false; readonly fault: Fault } => ({
  ok: false,
  fault: fault(code, detail),
});
