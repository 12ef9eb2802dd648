/** The MAC of frames is the one of RFC 2104, over the head without the MAC. */

import { createHmac } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { encodeFrame, headOf, macBytes, macStart } from "../../../net/messages/frame.ts";
import { FrameMac } from "../../../net/auth/frame_mac.ts";

Deno.test("Frame MAC: HMAC-SHA-256 of prefix, table and header, cut to 16 bytes", () => {
  const key = Uint8Array.from({ length: 32 }, (_, at) => 3 * at);
  const mac = new FrameMac(key);
  const contents = [
    { header: null, acknowledged: 7 },
    { header: { note: "x".repeat(1000) }, sequence: 1 },
    { header: { note: 2 }, segments: [new Uint8Array(100_000).fill(3), new Uint8Array(0)], sequence: 2 },
  ];
  for (const content of contents) {
    const frame = encodeFrame(content);
    const head = headOf(frame)!;
    const expected = createHmac("sha256", key)
      .update(head.subarray(0, macStart)).update(head.subarray(macStart + macBytes)).digest("hex");
    assert(!mac.isSealed(frame));
    mac.seal(frame);
    assertEquals(frame.subarray(macStart, macStart + macBytes).toHex(), expected.slice(0, 2 * macBytes));
    assert(mac.isSealed(frame));
    assert(!new FrameMac(key.map((byte) => byte ^ 1)).isSealed(frame));
  }
});

Deno.test("Frame MAC: a frame shorter than its head has none", () => {
  const mac = new FrameMac(new Uint8Array(32));
  const frame = encodeFrame({ header: { note: 1 }, sequence: 1 });
  mac.seal(frame);
  for (let bytes = 0; bytes < frame.length; bytes++) assert(!mac.isSealed(frame.subarray(0, bytes)));
});
