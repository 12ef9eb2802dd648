/** Strangers at the node's door: whatever they send is answered with an error or not at all, and the next caller is served. */

import { assert, assertEquals } from "@std/assert";
import type { Buffer } from "node:buffer";
import { WebSocket } from "ws";
import { FakeLedger } from "../../support/chain/fake_ledger.ts";
import { NodeWorld, type RpcAnswer, testRuntime, withServer } from "../../support/chain/node_world.ts";
import { sampleExtrinsic } from "../../support/chain/sample_extrinsic.ts";
import { prngOf } from "../../support/small_prng.ts";

const rounds = 3_000;

Deno.test("Node: texts that are not requests are answered with an error", () => {
  const world = new NodeWorld();
  const texts = [
    "",
    "{",
    "null",
    "[]",
    "[[]]",
    "7",
    '"text"',
    "\u0000",
    "{}",
    '{"method":7}',
    '{"id":{},"method":"system_chain"}',
    '{"id":1,"method":"system_chain","params":{}}',
    '{"id":1,"method":"__proto__"}',
    '{"id":1,"method":"toString"}',
    '{"id":1,"method":"constructor","params":[]}',
    `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
    `{"id":1,"method":"state_getStorage","params":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
    `{"id":1,"method":"state_getStorage","params":["0x${"ab".repeat(400_000)}"]}`,
  ];
  for (const text of texts) {
    const answer = world.send(text);
    const first = (Array.isArray(answer) ? answer[0] : answer) as RpcAnswer;
    assert(first?.error !== undefined || first?.result === null, text.slice(0, 60));
  }
  assertEquals(world.result("system_chainType"), "Local");
});

Deno.test("Node: a notification gets no answer", () => {
  const world = new NodeWorld();
  assertEquals(world.send('{"jsonrpc":"2.0","method":"system_chain"}'), undefined);
  assertEquals(world.send('{"jsonrpc":"2.0","method":"nothing"}'), undefined);
});

Deno.test("Node: every method survives parameters of every kind", () => {
  const world = new NodeWorld();
  const { methods } = world.result("rpc_methods") as { methods: string[] };
  const prng = prngOf(11);
  const pick = <T>(items: readonly T[]): T => items[prng(items.length)]!;
  const hex = () => `0x${Array.from({ length: prng(80) }, () => pick([..."0123456789abcdef"])).join("")}`;
  const keys = testRuntime.storageKeys.entries.map(({ prefix }) => `0x${prefix.toHex()}`);
  const functions = [...testRuntime.apiMethods.keys()];
  const kinds: (() => unknown)[] = [
    ...[() => null, () => true, () => -1, () => 1e300, () => "", () => "0x", () => "0xzz", () => [], () => ({})],
    ...[
      hex,
      () => [hex(), hex()],
      () => pick(keys),
      () => pick(keys) + hex().slice(2),
      () => [pick(keys) + hex().slice(2)],
    ],
    ...[() => pick(functions), () => 5, () => `0x${world.ledger.head().hash.toHex()}`, () => "5".repeat(1000)],
  ];
  for (let round = 0; round < rounds; round++) {
    const method = pick(methods);
    const params = Array.from({ length: prng(4) }, () => pick(kinds)());
    const answer = world.ask(method, ...params);
    assert(("result" in answer) !== ("error" in answer), `${method} ${JSON.stringify(params)}`);
    if (method.includes("ubscribe") && answer.result !== undefined) world.connection.close();
  }
  world.ledger.mine();
  assertEquals(world.ledger.accepted, []);
});

Deno.test("Node: a good extrinsic with any bytes changed is refused", () => {
  const world = new NodeWorld();
  const good = sampleExtrinsic(world.ledger.genesisHash);
  const prng = prngOf(12);
  const at = () => prng(good.length);
  const submit = (bytes: Uint8Array) => world.ask("author_submitExtrinsic", `0x${bytes.toHex()}`);
  for (let round = 0; round < 400; round++) {
    const change = round % 4;
    const bytes = change === 0
      ? good.with(at(), prng(256))
      : change === 1
      ? good.slice(0, at())
      : change === 2
      ? Uint8Array.from([...good.slice(0, at()), ...good])
      : Uint8Array.from({ length: at() }, () => prng(256));
    if (bytes.toHex() === good.toHex()) continue;
    const { error } = submit(bytes);
    assert([1001, 1002, 1010, 1011].includes(error?.code ?? 0), `${bytes.toHex()}: ${JSON.stringify(error)}`);
  }
  assertEquals(world.ledger.accepted, []);
  assertEquals(submit(good).error, undefined);
});

Deno.test("Node: binary frames are answered with an error, and large ones end the connection", () =>
  withServer(new FakeLedger(), async ({ url }) => {
    const socket = await opened(url);
    const answer = nextMessage(socket);
    socket.send(Uint8Array.of(1, 2, 3));
    assertEquals((await answer).error?.code, -32700);
    const ended = Promise.withResolvers<void>();
    socket.on("close", () => ended.resolve());
    socket.on("error", () => {});
    socket.send("x".repeat(20_000));
    await ended.promise;
    const next = await opened(url);
    const served = nextMessage(next);
    next.send('{"id":1,"method":"system_chainType"}');
    assertEquals((await served).result, "Local");
    next.terminate();
  }, { messageBytes: 10_000 }));

Deno.test("Node: no more connections than the limit, and a closed one makes room", () =>
  withServer(new FakeLedger(), async ({ url }) => {
    const first = await opened(url);
    const refused = Promise.withResolvers<string>();
    new WebSocket(url).on("error", ({ message }: Error) => refused.resolve(message));
    assert((await refused.promise).includes("429"));
    const closed = Promise.withResolvers<void>();
    first.on("close", () => closed.resolve());
    first.close();
    await closed.promise;
    (await opened(url)).terminate();
  }, { connections: 1 }));

Deno.test("Node: HTTP takes POST, one answer or a batch, and nothing too large", () =>
  withServer(new FakeLedger(), async ({ url }) => {
    const http = url.replace("ws:", "http:");
    const post = async (body: string) => {
      const response = await fetch(http, { method: "POST", body });
      return { status: response.status, text: await response.text() };
    };
    const request = '{"jsonrpc":"2.0","id":1,"method":"system_chainType"}';
    assertEquals((await post(request)).text, '{"jsonrpc":"2.0","id":1,"result":"Local"}');
    assertEquals(JSON.parse((await post(`[${request},${request}]`)).text).length, 2);
    assertEquals(JSON.parse((await post("{")).text).error.code, -32700);
    assertEquals((await post('{"method":"system_chain"}')).status, 204);
    assertEquals((await post(" ".repeat(20_000))).status, 413);
    const got = await fetch(http);
    assertEquals(got.status, 405);
    await got.body?.cancel();
    const health = await fetch(`${http}/health`);
    assertEquals((await health.json()).isSyncing, false);
  }, { messageBytes: 10_000 }));

/** As much of a `ws` client as is used here. */
interface Client {
  on(event: "open" | "close", listener: () => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  once(event: "message", listener: (data: Buffer) => void): void;
  send(data: string | Uint8Array): void;
  close(): void;
  terminate(): void;
}

function opened(url: string): Promise<Client> {
  const socket = new WebSocket(url) as Client;
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve(socket));
    socket.on("error", reject);
  });
}

function nextMessage(socket: Client): Promise<RpcAnswer> {
  return new Promise((resolve) => socket.once("message", (data) => resolve(JSON.parse(data.toString()))));
}
