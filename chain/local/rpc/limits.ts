/** The JSON-RPC node's limits. Requests are answered at once, so unread answers bound the work. */

export interface RpcLimits {
  readonly messageBytes: number;
  readonly batchRequests: number;
  readonly connections: number;
  readonly subscriptions: number;
  readonly outboxBytes: number; // per connection, unread; more cuts it
  readonly storageKeys: number;
  readonly pageKeys: number;
  readonly poolExtrinsics: number;
  readonly keptBlocks: number; // with extrinsics and events
}

export const defaultRpcLimits: RpcLimits = {
  messageBytes: 1024 * 1024, // the largest extrinsic has 5 kB; clients ask for some hundred keys
  batchRequests: 100,
  connections: 256,
  subscriptions: 1024, // one per storage item that a client follows
  outboxBytes: 16 * 1024 * 1024, // metadata has 70 kB as hex, a full metagraph 100 kB
  storageKeys: 4096,
  pageKeys: 1000,
  poolExtrinsics: 4096,
  keptBlocks: 256, // like a pruning node
};
