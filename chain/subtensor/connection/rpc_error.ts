/** A node's JSON-RPC error for one request, and what the client can infer from its text. */

export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(readonly code: number, readonly text: string, readonly data: string) {
    super(data === "" ? `${code}: ${text}` : `${code}: ${text}: ${data}`);
  }
}

/** Pruning nodes keep about 256 blocks. */
export function isStateGone(error: unknown): boolean {
  return error instanceof RpcError &&
    /state already discarded|unknown ?block|header was not found/i.test(error.message);
}

/** From JSON-RPC or the HTTP upgrade. */
export function isRateLimit(error: unknown): boolean {
  return error instanceof Error && /\b429\b|too many requests|rate limit/i.test(error.message);
}

export function isUnknownMethod(error: unknown): boolean {
  return error instanceof RpcError && error.code === -32601;
}
