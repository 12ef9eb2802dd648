/** What a channel does with damage: the link's, until it is plain that it is the other side's. */

import { assert, assertEquals } from "@std/assert";
import { parsed } from "../../../core/fault.ts";
import { Channel } from "../../../net/channel.ts";
import { encodeFrame } from "../../../net/frame.ts";
import { FrameMemory } from "../../../net/frame_memory.ts";
import { defaultNetLimits as limits } from "../../../net/limits.ts";
import type { Wire } from "../../../net/wire.ts";

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

const gap = encodeFrame({ header: { note: 9 }, sequence: 9 });

Deno.test("Channel: a frame that no link carries ends the session after damagedLinks of them", () => {
  const { channel, seen } = openChannel();
  for (let links = 0; links < limits.damagedLinks; links++) {
    channel.attach(wire, 0);
    channel.frame(gap);
  }
  assertEquals(seen, [...Array(limits.damagedLinks - 1).fill("damaged"), "broken"]);
});

Deno.test("Channel: a message between two damaged links shows that the session gets on", () => {
  const { channel, seen } = openChannel();
  for (let sequence = 1; sequence < 9; sequence++) {
    channel.attach(wire, 0);
    channel.frame(encodeFrame({ header: { note: sequence }, sequence }));
    channel.frame(encodeFrame({ header: { note: 99 }, sequence: 99 }));
  }
  assertEquals(seen.filter((what) => what === "damaged").length, 8);
  assert(!seen.includes("broken"));
});

Deno.test("Channel: more than a window without an acknowledgement ends the session at once", () => {
  const { channel, seen } = openChannel();
  channel.attach(wire, 0);
  channel.pause();
  const frame = new Uint8Array(limits.frameBytes);
  for (let count = 0; count < 3; count++) channel.frame(frame);
  assertEquals(seen, ["broken"]);
});
