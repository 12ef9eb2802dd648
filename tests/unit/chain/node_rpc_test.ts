/** The node's JSON-RPC, method by method and without sockets: answers, refusals in a real node's words, limits. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { ed25519 } from "@noble/curves/ed25519.js";
import { TypeRegistry } from "@polkadot/types";
import { u8aToHex } from "@polkadot/util";
import { alice, NodeWorld, type RpcAnswer, testRuntime } from "../../support/chain/node_world.ts";
import { sampleExtrinsic, type Spelling, subnetCall, testScale } from "../../support/chain/sample_extrinsic.ts";

const extrinsic = (world: NodeWorld, of: Spelling = {}): string =>
  u8aToHex(sampleExtrinsic(world.ledger.genesisHash, of));
const submit = (world: NodeWorld, of: Spelling = {}): RpcAnswer =>
  world.ask("author_submitExtrinsic", extrinsic(world, of));
const words = ({ error }: RpcAnswer): string =>
  error === undefined
    ? "accepted"
    : [error.code, error.message, error.data].filter((part) => part !== undefined).join(": ");

Deno.test("Node: an extrinsic is good for its chain, its runtime and its signer only", () => {
  const world = new NodeWorld();
  const badProof = "1010: Invalid Transaction: Transaction has a bad signature";
  assertEquals(words(submit(world, { signedGenesis: new Uint8Array(32) })), badProof);
  assertEquals(words(submit(world, { specVersion: 426 })), badProof);
  assertEquals(words(submit(world, { damage: (signature) => signature.with(3, signature[3]! ^ 1) })), badProof);
  assertEquals(words(submit(world, { damage: () => new Uint8Array(64) })), badProof);
  assertEquals(words(submit(world)), "accepted");
});

Deno.test("Node: a mortal extrinsic is good while its first block is in reach", () => {
  const world = new NodeWorld();
  const hashes = Array.from({ length: 70 }, () => world.ledger.mine().hash); // of blocks 1 to 70
  const era = { type: "Mortal37", value: 0 }; // period 64, phase 2: begins at block 66 now
  assertEquals(words(submit(world, { era, eraHash: hashes[65]! })), "accepted");
  assertEquals(
    words(submit(world, { era, eraHash: hashes[1]!, nonce: 1 })), // signed one period ago
    "1010: Invalid Transaction: Transaction has a bad signature",
  );
  const later = { type: "Mortal21", value: 1 }; // period 64, phase 17: its block does not exist before block 81
  assertMatch(words(submit(new NodeWorld(), { era: later })), /ancient birth block$/);
  assertMatch(words(submit(world, { era: { type: "Mortal17", value: 255 } })), /^1002: .*phase/);
});

Deno.test("Node: the client's era is the node's era", () => {
  const registry = new TypeRegistry();
  for (const [current, period] of [[70, 64], [1000, 128], [5, 4], [123_456, 16_384]] as const) {
    const bytes = registry.createType("ExtrinsicEra", { current, period }).toU8a();
    assertEquals(testScale.encode("Era", testScale.decode("Era", bytes)), bytes);
  }
});

Deno.test("Node: the ledger's refusals have a real pool's words", () => {
  const world = new NodeWorld();
  const refused = (refusal: NodeWorld["ledger"]["refuseWith"]) => {
    world.ledger.refuseWith = refusal;
    return words(submit(world));
  };
  const plain = (kind: "stale" | "future" | "lowPriority" | "payment") =>
    refused({ status: "refused", kind, custom: null });
  assertEquals(plain("stale"), "1010: Invalid Transaction: Transaction is outdated");
  assertEquals(plain("future"), "1010: Invalid Transaction: Transaction will be valid in the future");
  assertMatch(plain("payment"), /^1010: Invalid Transaction: Inability to pay some fees/);
  assertMatch(plain("lowPriority"), /^1014: Priority is too low: .*already in the pool\.$/);
  const custom = refused({ status: "refused", kind: "custom", custom: 12 });
  assertEquals(custom, "1010: Invalid Transaction: Custom error: 12");
});

Deno.test("Node: an extrinsic goes in once", () => {
  const world = new NodeWorld();
  const text = extrinsic(world);
  assertMatch(String(world.result("author_submitExtrinsic", text)), /^0x[0-9a-f]{64}$/);
  assertMatch(words(world.ask("author_submitExtrinsic", text)), /^1013: Transaction Already Imported: 0x/);
  assertEquals(world.result("author_pendingExtrinsics"), [text]);
  world.ledger.mine();
  assertEquals(world.result("author_pendingExtrinsics"), []);
  assertEquals(words(world.ask("author_submitExtrinsic", text)), "1012: Transaction is temporarily banned");
});

Deno.test("Node: calls that cannot be are refused before the ledger sees them", () => {
  const world = new NodeWorld();
  const unsigned = { type: "Timestamp", value: { type: "set", value: 5n } };
  assertMatch(words(submit(world, { call: unsigned })), /^1010: .*call is not expected$/);
  const toIndex = {
    type: "Balances",
    value: { type: "transfer_keep_alive", value: [{ type: "Raw", value: new Uint8Array(3) }, 5n] },
  };
  assertMatch(words(submit(world, { call: toIndex })), /^1010: .*call is not expected$/);
  const axon = (ip: bigint, type: number) => subnetCall("serve_axon", [9, 1, ip, 80, type, 4, 0, 0]);
  assertEquals(words(submit(world, { call: axon(5n, 5) })), "1010: Invalid Transaction: Custom error: 11");
  assertEquals(words(submit(world, { call: axon(2n ** 40n, 4) })), "1010: Invalid Transaction: Custom error: 11");
  const commit = (bytes: number) => subnetCall("commit_timelocked_weights", [9, new Uint8Array(bytes), 5n, 4]);
  assertMatch(words(submit(world, { call: commit(5001) })), /^1002: Verification Error: .*5000/);
  assertEquals(world.ledger.accepted, []);
  assertEquals(words(submit(world, { call: commit(5000) })), "accepted");
});

Deno.test("Node: an extrinsic may be signed with ed25519, but not unsigned or with a secp256k1 key", () => {
  const secretKey = new Uint8Array(32).fill(9);
  const signer = {
    publicKey: ed25519.getPublicKey(secretKey),
    sign: (message: Uint8Array) => ed25519.sign(message, secretKey),
  };
  const world = new NodeWorld();
  const badProof = "1010: Invalid Transaction: Transaction has a bad signature";
  assertEquals(words(submit(world, { signer, scheme: "Ed25519" })), "accepted");
  assertEquals(words(submit(world, { scheme: "Ed25519" })), badProof);
  assertEquals(words(submit(world, { scheme: "Ecdsa", damage: () => new Uint8Array(65) })), badProof);
  assertEquals(words(submit(world, { checksMetadata: true })), badProof);
  assertMatch(words(submit(world, { version: 0x04 })), /^1011: Unknown Transaction Validity/);
  assertMatch(words(submit(world, { version: 0x85 })), /^1002: .*version must be 4/);
});

Deno.test("Node: a stake with a price limit is a stake, as long as one alpha is one tao within it", () => {
  const world = new NodeWorld();
  const limited = (name: string, limit: bigint) =>
    words(
      submit(world, {
        call: subnetCall(name, [alice.publicKey, 9, 5n, limit, false]),
        nonce: world.ledger.accepted.length,
      }),
    );
  const refused = "1010: Invalid Transaction: Custom error: 8";
  assertEquals([limited("add_stake_limit", 999_999_999n), limited("remove_stake_limit", 1_000_000_001n)], [
    refused,
    refused,
  ]);
  assertEquals([limited("add_stake_limit", 10n ** 9n), limited("remove_stake_limit", 10n ** 9n)], [
    "accepted",
    "accepted",
  ]);
  assertEquals(world.ledger.accepted.map(({ call }) => call.type), ["addStake", "removeStake"]);
});

Deno.test("Node: a watcher is notified of pool, block and finality, only for its own extrinsic", () => {
  const world = new NodeWorld();
  const first = world.result("author_submitAndWatchExtrinsic", extrinsic(world));
  const second = world.result("author_submitAndWatchExtrinsic", extrinsic(world, { nonce: 1 }));
  assert(world.result("author_unwatchExtrinsic", second));
  const block = u8aToHex(world.ledger.mine().hash);
  world.ledger.mine();
  const of = (id: unknown) =>
    world.pushed.filter(({ params }) => params.subscription === id).map(({ params }) => params.result);
  assertEquals(of(first), ["ready", { inBlock: block }, { finalized: block }]);
  assertEquals(of(second), ["ready"]);
});

Deno.test("Node: a subscription's id comes before its first notification, also in a batch", () => {
  const world = new NodeWorld();
  const order: string[] = [];
  const connection = world.node.connect((text) => order.push(JSON.parse(text).method));
  const request = { jsonrpc: "2.0", id: 1, method: "chain_subscribeNewHeads" };
  connection.receive(
    JSON.stringify([request, { ...request, id: 2, method: "system_chain" }]),
    () => order.push("answer"),
  );
  assertEquals(order, ["answer", "chain_newHead"]);
  connection.close();
  world.ledger.mine();
  assertEquals(order.length, 2);
});

Deno.test("Node: state of the past is discarded, state of nowhere unknown", () => {
  const world = new NodeWorld();
  const tempo = u8aToHex(testRuntime.storageKeys.build(testRuntime.storageKeys.entry("SubtensorModule.Tempo")!, [9]));
  const old = u8aToHex(world.ledger.mine().hash);
  world.ledger.mine();
  assertMatch(
    words(world.ask("state_getStorage", tempo, old)),
    /^4003: Client error: UnknownBlock: State already discarded/,
  );
  const nowhere = `0x${"77".repeat(32)}`;
  assertMatch(words(world.ask("state_getStorage", tempo, nowhere)), /^4003: Client error: UnknownBlock: Expect block/);
  const events = u8aToHex(testRuntime.storageKeys.build(testRuntime.storageKeys.entry("System.Events")!, []));
  assertMatch(String(world.result("state_getStorage", events, old)), /^0x04/); // the clock's, kept with the block
  assertMatch(words(world.ask("state_call", "Nothing_of_it", "0x")), /Exported method Nothing_of_it is not found/);
});

Deno.test("Node: blocks are kept for a while, headers forever", () => {
  const world = new NodeWorld({ keptBlocks: 3 });
  const first = u8aToHex(world.ledger.mine().hash);
  assert(world.result("chain_getBlock", first) !== null);
  for (let i = 0; i < 3; i++) world.ledger.mine();
  assertEquals(world.result("chain_getBlock", first), null);
  assertEquals((world.result("chain_getHeader", first) as { number: string }).number, "0x1");
  assertEquals(world.result("chain_getBlockHash", 1), first);
  assertEquals(world.result("chain_getBlockHash", [1, 99]), [first, null]);
});

Deno.test("Node: limits are answered, not exceeded", () => {
  const world = new NodeWorld({ subscriptions: 2, batchRequests: 2, storageKeys: 2, poolExtrinsics: 1 });
  for (let i = 0; i < 2; i++) assertEquals(words(world.ask("chain_subscribeNewHeads")), "accepted");
  assertMatch(words(world.ask("chain_subscribeNewHeads")), /^-32006: Too many subscriptions/);
  const request = { jsonrpc: "2.0", id: 1, method: "system_chain" };
  assertEquals((world.send(JSON.stringify([request, request])) as RpcAnswer[]).length, 2);
  assertMatch(words(world.send(JSON.stringify([request, request, request])) as RpcAnswer), /^-32600/);
  assertMatch(words(world.ask("state_queryStorageAt", ["0x", "0x", "0x"])), /^-32602/);
  assertEquals(words(submit(world)), "accepted");
  assertMatch(words(submit(world, { nonce: 1 })), /^1016: Immediately Dropped/);
  assertEquals(words(httpSubscription(world)), "-32601: Subscriptions need a WebSocket");
});

function httpSubscription(world: NodeWorld): RpcAnswer {
  let answer: RpcAnswer = {};
  const request = { jsonrpc: "2.0", id: 1, method: "chain_subscribeNewHeads" };
  world.node.connect(null).receive(JSON.stringify(request), (text) => answer = JSON.parse(text));
  return answer;
}
