/** What a channel does with damage: the link's, until it is plain that it is the other side's. */

import { assert, assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { parsed } from "../../../core/fault.ts";
import { Channel } from "../../../net/links/channel.ts";
import { encodeFrame, macStart, writeChecksums } from "../../../net/messages/frame.ts";
import { linkMacs } from "../../../net/auth/frame_mac.ts";
import { FrameMemory } from "../../../net/messages/frame_memory.ts";
import { defaultNetLimits as limits } from "../../../net/limits.ts";
import { LinkSecret } from "../../../net/auth/link_secret.ts";
import type { Wire } from "../../../net/links/wire.ts";

const wire: Wire = { bufferedBytes: 0, send: () => {}, close: () => {}, pause: () => {}, resume: () => {} };

function openChannel() {
  const seen: string[] = [];
  const channel = new Channel<unknown>({
    limits,
    memory: new FrameMemory(),
    read: (header) => parsed(header),
    onMessage: () => seen.push("message"),
    onRefusedMessage: () => seen.push("refused"),
    onControl: () => seen.push("control"),
    onDamaged: () => seen.push("damaged"),
    onBroken: () => seen.push("broken"),
  });
  return { channel, seen };
}

const claim = {
  type: "hello",
  protocol: 7,
  run: "test",
  role: "miner",
  node: nodeId("5Node"),
  hub: nodeId("5Hub"),
  hubNonce: "00".repeat(32),
  nonce: "11".repeat(32),
  timeMs: 0,
  process: "22".repeat(32),
  resume: null,
} as const;
const secret = new LinkSecret(new Uint8Array(32).fill(5));
const macs = linkMacs({ secret, claim, side: "hub" });
const node = linkMacs({ secret, claim, side: "node" });

function sealed(sequence: number): Uint8Array {
  const frame = encodeFrame({ header: { note: sequence }, sequence });
  node.outgoing.seal(frame);
  return frame;
}

const gap = sealed(9);

Deno.test("Channel: a frame that no link carries ends the session after damagedLinks of them", () => {
  const { channel, seen } = openChannel();
  for (let links = 0; links < limits.damagedLinks; links++) {
    channel.attach(wire, { macs, peerReceived: 0 });
    channel.frame(gap);
  }
  assertEquals(seen, [...Array(limits.damagedLinks - 1).fill("damaged"), "broken"]);
});

Deno.test("Channel: a message between two damaged links shows that the session gets on", () => {
  const { channel, seen } = openChannel();
  for (let sequence = 1; sequence < 9; sequence++) {
    channel.attach(wire, { macs, peerReceived: 0 });
    channel.frame(sealed(sequence));
    channel.frame(sealed(99));
  }
  assertEquals(seen.filter((what) => what === "damaged").length, 8);
  assert(!seen.includes("broken"));
});

Deno.test("Channel: more than a window without an acknowledgement ends the session at once", () => {
  const { channel, seen } = openChannel();
  channel.attach(wire, { macs, peerReceived: 0 });
  channel.pause();
  const frame = new Uint8Array(limits.frameBytes);
  node.outgoing.seal(frame);
  for (let count = 0; count < 3; count++) channel.frame(frame);
  assertEquals(seen, ["broken"]);
});

Deno.test("Channel: a frame counts only with the MAC of its direction, its link and its node", () => {
  const mac = (changes: Partial<typeof claim> & { readonly secret?: LinkSecret }, side: "hub" | "node" = "node") =>
    linkMacs({ secret: changes.secret ?? secret, claim: { ...claim, ...changes } as typeof claim, side }).outgoing;
  const strangers = {
    reflected: mac({}, "hub"),
    "another link's": mac({ nonce: "22".repeat(32) } as never),
    "answered to another challenge": mac({ hubNonce: "22".repeat(32) } as never),
    "another secret's": mac({ secret: new LinkSecret(new Uint8Array(32)) }),
  };
  for (const [name, stranger] of Object.entries(strangers)) {
    const { channel, seen } = openChannel();
    channel.attach(wire, { macs, peerReceived: 0 });
    const frame = encodeFrame({ header: { note: 1 }, sequence: 1 });
    stranger.seal(frame);
    channel.frame(frame);
    assertEquals(seen, ["damaged"], name);
  }
  const { channel, seen } = openChannel();
  channel.attach(wire, { macs, peerReceived: 0 });
  channel.frame(sealed(1));
  assertEquals(seen, ["message"]);
});

Deno.test("Channel: no bit of a frame can be changed, not even with checksums that fit", () => {
  const whole = sealed(1);
  for (let bit = 0; bit < 8 * whole.length; bit++) {
    const { channel, seen } = openChannel();
    channel.attach(wire, { macs, peerReceived: 0 });
    const frame = whole.slice();
    frame[bit >> 3]! ^= 1 << (bit & 7);
    if (bit < 8 * macStart - 64 || bit >= 8 * macStart) writeChecksums(frame);
    channel.frame(frame);
    assertEquals(seen, ["damaged"], `bit ${bit}`);
  }
});

Deno.test("Channel: a stranger's frames fill no window, also while it is not read", () => {
  const { channel, seen } = openChannel();
  channel.attach(wire, { macs, peerReceived: 0 });
  channel.pause();
  for (let count = 0; count < 3; count++) channel.frame(new Uint8Array(limits.frameBytes));
  assertEquals(seen, ["damaged"]); // the link's, not the session's end
});
