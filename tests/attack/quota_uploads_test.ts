/** A node that opens uploads and never ends them, over real connections: it uses up only its own slots. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hashOf } from "../../net/blob_hash.ts";
import type { QuotaLimits } from "../../net/blobs/blob_quota.ts";
import type { Signer } from "../../net/auth/hello.ts";
import type { NetLimits } from "../../net/limits.ts";
import { listen, type Listener } from "../../net/server.ts";
import { streamOf } from "../conformance/blobs_suite.ts";
import { EventLog } from "../support/event_log.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";
import type { Cancel } from "../../net/timers.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { testSigner } from "../support/net/test_keys.ts";
import { UploadWorld } from "../support/net/upload_world.ts";
import { varied } from "../support/net/varied_bytes.ts";

interface Served {
  readonly hub: UploadWorld;
  readonly listener: Listener;
}

const attacker = testSigner(66);
const honest = testSigner(77);
const silenceMs = 20_000;

type Given = Partial<NetLimits> & { readonly quota?: Partial<QuotaLimits>; readonly timers?: ManualTimers };

function withHub(
  { quota = {}, timers = new ManualTimers(), ...limits }: Given,
  body: (served: Served) => Promise<void>,
): Promise<void> {
  return withScratchFolder(async (folder) => {
    const hub = await UploadWorld.open(folder, limits, { quota, timers });
    for (const { address } of [attacker, honest]) hub.world.admitted.add(address);
    const listener = await listen({
      ...{ host: "127.0.0.1", port: 0, limits: hub.limits },
      accept: () => ({ frame: () => {}, closed: () => {} }),
      fetch: (request) => hub.world.app.fetch(request),
    });
    try {
      await body({ hub, listener });
      assertEquals(hub.world.errors, []);
    } finally {
      await listener.close();
      await hub.stop();
    }
  });
}

/** A request whose body begins and does not end. */
class HangingUpload {
  readonly #socket: Deno.TcpConn;

  private constructor(socket: Deno.TcpConn) {
    this.#socket = socket;
  }

  static async open(
    { hub, listener }: Served,
    options: { signer: Signer; content: Uint8Array; sentBytes: number; isChunked?: boolean },
  ): Promise<HangingUpload> {
    const { signer, content, sentBytes, isChunked = false } = options;
    const hash = hashOf(content);
    const path = `/blobs/${hash}`;
    const proof = hub.world.authorize({ signer })({ method: "PUT", target: path, bodyHash: hash });
    const length = isChunked ? { "transfer-encoding": "chunked" } : { "content-length": `${content.length}` };
    const lines = Object.entries({ ...proof, host: "hub", ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
    const upload = new HangingUpload(socket);
    await upload.#write(new TextEncoder().encode(`PUT ${path} HTTP/1.1\r\n${lines.join("")}\r\n`));
    if (isChunked) await upload.#write(new TextEncoder().encode(`${sentBytes.toString(16)}\r\n`));
    await upload.#write(content.subarray(0, sentBytes));
    return upload;
  }

  /** The first line of the answer and its text. */
  async answer(): Promise<string> {
    const bytes = new Uint8Array(4096);
    let count = 0;
    while (!new TextDecoder().decode(bytes.subarray(0, count)).includes("}")) {
      const read = await this.#socket.read(bytes.subarray(count));
      if (read === null) break;
      count += read;
    }
    return new TextDecoder().decode(bytes.subarray(0, count));
  }

  close(): void {
    this.#socket.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#socket.write(bytes.subarray(at));
  }
}

Deno.test("Quota: a node's PUTs are limited in number; the next is refused at once, and others store as before", () =>
  withHub({ uploadsOfNode: 3 }, async (served) => {
    const { hub, listener } = served;
    const hanging: HangingUpload[] = [];
    for (let i = 0; i < 3; i++) {
      hanging.push(await HangingUpload.open(served, { signer: attacker, content: varied(50_000, i), sentBytes: 100 }));
    }
    await hub.world.slots.until(attacker.address, 3);
    const fourth = await HangingUpload.open(served, { signer: attacker, content: varied(50_000, 9), sentBytes: 0 });
    const answer = await fourth.answer();
    assertStringIncludes(answer, "HTTP/1.1 429");
    assertStringIncludes(answer, "'uploadsOfNode' must be at most 3 at once");
    assertEquals(hub.world.exceeded.map(({ node }) => node), [attacker.address]);
    const content = varied(50_000, 20);
    const client = hub.world.client({ url: listener.url, authorize: hub.world.authorize({ signer: honest }) });
    assertEquals(await client.put(content), { hash: hashOf(content), bytes: 50_000 });
    for (const each of [...hanging, fourth]) each.close();
  }));

Deno.test("Quota: an upload that sends nothing for too long ends with a sentence, and its place is free", () => {
  const timers = new SilenceTimers();
  return withHub({ uploadsOfNode: 1, uploadSilenceMs: silenceMs, timers }, async (served) => {
    const { hub, listener } = served;
    const content = varied(50_000, 1);
    const silent = await HangingUpload.open(served, { signer: attacker, content, sentBytes: 100 });
    await hub.world.slots.until(attacker.address, 1);
    await timers.waits.take("wait", 2); // for the bytes that came, then for those that do not
    timers.advance(silenceMs);
    const answer = await silent.answer();
    assertStringIncludes(answer, "HTTP/1.1 408");
    assertStringIncludes(answer, "sent no byte for 20000 ms");
    await hub.world.slots.until(attacker.address, 0);
    assertEquals(hub.world.quota.usage(attacker.address), { bytes: 0, blobs: 0 });
    const client = hub.world.client({ url: listener.url, authorize: hub.world.authorize({ signer: attacker }) });
    assertEquals((await client.put(content)).bytes, 50_000);
    silent.close();
  });
});

/** Tells when the orchestrator begins to wait for a sender. */
class SilenceTimers extends ManualTimers {
  readonly waits = new EventLog<{ type: "wait" }>();

  override after(delayMs: number, callback: () => void): Cancel {
    const cancel = super.after(delayMs, callback);
    if (delayMs === silenceMs) this.waits.push({ type: "wait" });
    return cancel;
  }
}

Deno.test("Quota: when one node holds all places, another's upload takes one of them", () =>
  withHub({ uploads: 4, uploadsOfNode: 8 }, async (served) => {
    const { hub, listener } = served;
    const hanging: HangingUpload[] = [];
    for (let i = 0; i < 4; i++) {
      hanging.push(await HangingUpload.open(served, { signer: attacker, content: varied(50_000, i), sentBytes: 100 }));
      await hub.world.slots.until(attacker.address, i + 1);
    }
    const content = varied(50_000, 20);
    const client = hub.world.client({ url: listener.url, authorize: hub.world.authorize({ signer: honest }) });
    assertEquals((await client.put(content)).bytes, 50_000);
    assertStringIncludes(await hanging[0]!.answer(), "HTTP/1.1 429"); // the oldest
    await hub.world.slots.until(attacker.address, 3);
    for (const each of hanging) each.close();
  }));

Deno.test("Quota: announced and arriving bytes count as stored ones do, whether their length is announced or not", () =>
  withHub({ quota: { bytesOfNode: 1_000_000 } }, async (served) => {
    const { hub } = served;
    const content = varied(900_000, 1);
    const first = await HangingUpload.open(served, { signer: attacker, content, sentBytes: 10 });
    await hub.world.slots.until(attacker.address, 1);
    assertEquals(hub.world.quota.usage(attacker.address), { bytes: 900_000, blobs: 1 });
    const second = await HangingUpload.open(served, { signer: attacker, content: varied(200_000, 2), sentBytes: 0 });
    assertStringIncludes(await second.answer(), "HTTP/1.1 507");
    const third = await HangingUpload.open(served, {
      ...{ signer: attacker, content: varied(200_000, 3), sentBytes: 200_000, isChunked: true },
    });
    assertStringIncludes(await third.answer(), "'bytesOfNode' must be at most 1000000");
    first.close();
    await hub.world.slots.until(attacker.address, 0);
    assertEquals(hub.world.quota.usage(attacker.address), { bytes: 0, blobs: 0 }, "what broke off is given back");
    for (const each of [second, third]) each.close();
  }));

Deno.test("Quota: one node's unfinished parts never push out another's", () =>
  withHub({ uploadsOfNode: 8, uploadBytes: 3_000_000, uploadBytesOfNode: 2_500_000, uploads: 6 }, async ({ hub }) => {
    const own = { hash: hashOf(varied(900_000, 1)), node: honest.address };
    const part = (bytes: Uint8Array) => ({ offset: 0, bytes: bytes.length, isLast: false, source: streamOf(bytes) });
    await hub.uploads.append(own, part(varied(900_000, 1).subarray(0, 800_000)));
    for (let i = 0; i < 12; i++) {
      hub.world.timers.advance(10);
      await hub.uploads.append({ hash: hashOf(varied(10, i)), node: attacker.address }, part(varied(700_000, i)));
    }
    assertEquals(await hub.uploads.offset(own), 800_000);
    assert(hub.uploads.usage().bytes <= 3_000_000 && hub.uploads.usage().uploads <= 6);
  }));
