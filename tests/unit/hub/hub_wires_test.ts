/** Ids on a wire are held to the tokens of its microbatch. */

import { assertEquals } from "@std/assert";
import { isOfTokens } from "../../../cli/orchestrator/hub/hub_wires.ts";
import { encodeWire, type Wire } from "../../../core/codec/wire.ts";
import { microbatchId } from "../../../core/ids.ts";

const wire: Wire = { codec: "q5block", direction: "forward", rows: 8, width: 8, vocabSize: 64, sideWidth: 4 };
const inputs = Uint32Array.from({ length: 8 }, (_, i) => i * 7);
const batches = { tokensOf: () => ({ inputs, targets: inputs }) };
const values = new Float32Array(64).fill(0.5);
const judged = (bytes: Uint8Array, of: Wire = wire) => isOfTokens(of, { bytes, batches, microbatch: microbatchId(3) });

Deno.test("Token check: a wire has its microbatch's ids, and one other id is seen", () => {
  assertEquals(judged(encodeWire(wire, values, inputs)), true);
  for (const row of [0, 7]) assertEquals(judged(encodeWire(wire, values, inputs.with(row, 63))), false);
});

Deno.test("Token check: wires without ids, gradients and wrong lengths are judged elsewhere", () => {
  const { vocabSize: _, ...plain } = wire;
  assertEquals(judged(encodeWire(plain, values), plain), true);
  const gradient: Wire = { ...wire, direction: "gradient" };
  assertEquals(judged(encodeWire(gradient, values), gradient), true);
  assertEquals(judged(new Uint8Array(5)), true);
});
