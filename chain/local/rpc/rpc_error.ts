/** A Substrate node's codes and messages, because clients match on both. Caught only in connection.ts. */

export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(readonly code: number, message: string, readonly data?: string) {
    super(message);
  }
}

export const parseError = (): RpcError => new RpcError(-32700, "Parse error");
export const invalidRequest = (): RpcError => new RpcError(-32600, "Invalid request");
export const methodNotFound = (): RpcError => new RpcError(-32601, "Method not found");
export const invalidParams = (why: string): RpcError => new RpcError(-32602, "Invalid params", why);
export const tooManySubscriptions = (limit: number): RpcError =>
  new RpcError(-32006, "Too many subscriptions on the connection", `Exceeded max limit of ${limit}`);
export const needsSocket = (): RpcError => new RpcError(-32601, "Subscriptions need a WebSocket");

export const clientError = (why: string): RpcError => new RpcError(4003, `Client error: ${why}`);
export const unknownBlock = (hash: string): RpcError =>
  clientError(`UnknownBlock: Expect block number from id: ${hash}`);
export const discardedState = (hash: string): RpcError =>
  clientError(`UnknownBlock: State already discarded for ${hash}`);
export const unknownFunction = (name: string): RpcError =>
  clientError(`Execution failed: Other: Exported method ${name} is not found`);

export const badFormat = (why: string): RpcError => new RpcError(1001, `Extrinsic has invalid format: ${why}`);
/** The runtime panics on calls and signatures that it cannot decode. */
export const undecodable = (why: string): RpcError =>
  new RpcError(1002, `Verification Error: Runtime error: Execution failed: the extrinsic cannot be decoded: ${why}`);
export const temporarilyBanned = (): RpcError => new RpcError(1012, "Transaction is temporarily banned");
export const alreadyImported = (hash: string): RpcError => new RpcError(1013, "Transaction Already Imported", hash);
export const poolIsFull = (): RpcError =>
  new RpcError(1016, "Immediately Dropped", "The transaction couldn't enter the pool because of the limit");
export const unsignedExtrinsic = (): RpcError =>
  new RpcError(
    1011,
    "Unknown Transaction Validity",
    "Could not find an unsigned validator for the unsigned transaction",
  );
export const lowPriority = (): RpcError =>
  new RpcError(
    1014,
    "Priority is too low: (0 vs 0)",
    "The transaction has too low priority to replace another transaction already in the pool.",
  );

const invalidReasons = {
  call: "Transaction call is not expected",
  payment: "Inability to pay some fees (e.g. account balance too low)",
  future: "Transaction will be valid in the future",
  stale: "Transaction is outdated",
  badProof: "Transaction has a bad signature",
  ancientBirthBlock: "Transaction has an ancient birth block",
} as const;

export const invalidTransaction = (reason: keyof typeof invalidReasons): RpcError =>
  new RpcError(1010, "Invalid Transaction", invalidReasons[reason]);
export const customInvalid = (code: number): RpcError =>
  new RpcError(1010, "Invalid Transaction", `Custom error: ${code}`);
