/**
 * A node's refusal of one request, as JSON-RPC carries it, and what the client can read from it.
 *
 * Owns: the error and the few questions asked of its text. Refuses: the pool's refusals of an extrinsic (pool_error.ts).
 */

export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(readonly code: number, readonly text: string, readonly data: string) {
    super(data === "" ? `${code}: ${text}` : `${code}: ${text}: ${data}`);
  }
}

/** A node that prunes keeps the state of the last 256 blocks or so. */
export function isStateGone(error: unknown): boolean {
  return error instanceof RpcError &&
    /state already discarded|unknown ?block|header was not found/i.test(error.message);
}

/** Asked too often: from JSON-RPC, or from the HTTP upgrade. */
export function isRateLimit(error: unknown): boolean {
  return error instanceof Error && /\b429\b|too many requests|rate limit/i.test(error.message);
}

/** The node is older or stricter than the request. */
export function isUnknownMethod(error: unknown): boolean {
  return error instanceof RpcError && error.code === -32601;
}
