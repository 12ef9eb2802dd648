/**
 * Every limit of the JSON-RPC node, with the reason for each number.
 *
 * Requests are answered one after the other as they arrive and none of them waits, so the limit on unread answers per
 * connection bounds the work in flight.
 */

export interface RpcLimits {
  readonly messageBytes: number; // one message or HTTP body
  readonly batchRequests: number; // in one message
  readonly connections: number; // WebSockets
  readonly subscriptions: number; // of one connection
  readonly outboxBytes: number; // sent and unread on one connection; more cuts it
  readonly storageKeys: number; // in one request
  readonly pageKeys: number; // in one page of keys
  readonly poolExtrinsics: number;
  readonly keptBlocks: number; // whose extrinsics and events are available
}

export const defaultRpcLimits: RpcLimits = {
  messageBytes: 1024 * 1024, // the largest extrinsic has 5 kB; a client asks for some hundred keys at a time
  batchRequests: 100,
  connections: 256,
  subscriptions: 1024, // clients open one per storage item they follow
  outboxBytes: 16 * 1024 * 1024, // metadata is 70 kB as hex, a full metagraph about 100 kB
  storageKeys: 4096,
  pageKeys: 1000,
  poolExtrinsics: 4096,
  keptBlocks: 256, // as in a pruning node
};
