/** How payloads count by their shapes: no single one of three or more rules, and honest differences change nothing. */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import type { PayloadShape } from "../../../core/merge/payload_shape.ts";
import { countPayloads, type WeighedPayload } from "../../../core/orchestrator/merge/payload_weights.ts";

const sizes = [900, 100]; // a matrix and gains
const direction = (angle: number) => [Math.cos(angle), Math.sin(angle)];
const shape = (angle: number, [matrix, gains]: readonly [number, number] = [3, 1]): PayloadShape => ({
  tensorSquares: [matrix ** 2, gains ** 2],
  sketch: direction(angle),
});

function payload(name: string, own: PayloadShape | null, { weight = 9, length = 1 } = {}): WeighedPayload {
  return { node: nodeId(name), weight, length, shape: own };
}

const honest = [payload("a", shape(0)), payload("b", shape(0.8, [2.5, 1.3])), payload("d", shape(0.5, [2.8, 1.1]))];

/** What becomes of a payload beside three honest ones, which keep all they have. */
function counted(own: PayloadShape | null, options: { weight?: number; length?: number } = {}) {
  const all = countPayloads([...honest, payload("c", own, options)], sizes);
  for (const node of ["a", "b", "d"]) assertEquals(all.get(nodeId(node)), { scale: 1, isOdd: false });
  return all.get(nodeId("c"))!;
}

Deno.test("Payload weights: like its peers, half as long in a tensor or somewhat off their direction, it counts in full", () => {
  for (const own of [shape(0.4), shape(-0.8), shape(1.4), shape(0.4, [5.5, 2.2]), shape(0.4, [1, 0])]) {
    assertEquals(counted(own), { scale: 1, isOdd: false });
  }
});

Deno.test("Payload weights: longer in one tensor than twice the middle, it is scaled down, and far longer left out", () => {
  const { scale, isOdd } = counted(shape(0.4, [3, 3.9]));
  assertAlmostEquals(scale, 2 * 1.3 / 3.9, 0.2);
  assertEquals(isOdd, true);
  assertEquals(counted(shape(0.4, [0, 8])), { scale: 0, isOdd: true });
});

Deno.test("Payload weights: where peers have nothing in a tensor, average values are the measure", () => {
  const empty = [payload("a", shape(0, [3, 0])), payload("b", shape(0, [3, 0]))];
  const of = (gains: number) =>
    countPayloads([...empty, payload("c", shape(0, [3, gains]))], sizes).get(nodeId("c"))!.scale;
  assertEquals([of(1), of(1.8), of(5)], [1, 1, 0]);
});

Deno.test("Payload weights: against its peers, or apart from peers that agree, it is left out", () => {
  for (const angle of [Math.PI, Math.PI + 0.4, Math.PI / 2 + 0.5, -1.3]) {
    assertEquals(counted(shape(angle)), { scale: 0, isOdd: false }, `${angle}`);
  }
});

Deno.test("Payload weights: of three, two that go the other way do not push out the third", () => {
  const three = [payload("a", shape(0)), payload("b", shape(Math.PI)), payload("c", shape(Math.PI))];
  assertEquals([...countPayloads(three, sizes).values()].map(({ scale }) => scale), [1, 1, 1]);
});

Deno.test("Payload weights: peers that do not agree are no measure of a direction", () => {
  const apart = [0, Math.PI / 2, Math.PI, -Math.PI / 2].map((angle, i) => payload(`node ${i}`, shape(angle)));
  assertEquals([...countPayloads(apart, sizes).values()].map(({ scale }) => scale), [1, 1, 1, 1]);
});

Deno.test("Payload weights: far shorter than its work lets expect, it is left out and nothing is noted; after little work it is not", () => {
  assertEquals(counted(shape(0.4), { length: 0 }), { scale: 0, isOdd: false });
  assertEquals(counted(shape(0.4), { length: 0.1 }), { scale: 0, isOdd: false });
  assertEquals(counted(shape(0.4), { length: 0.1, weight: 3 }), { scale: 1, isOdd: false });
});

Deno.test("Payload weights: of two nobody is the odd one, and unknown shapes decide nothing", () => {
  const two = [payload("a", shape(0)), payload("b", shape(Math.PI, [0, 100]), { length: 100 })];
  assertEquals([...countPayloads(two, sizes).values()], [{ scale: 1, isOdd: false }, { scale: 1, isOdd: false }]);
  assertEquals(counted(null).scale, 1);
});
