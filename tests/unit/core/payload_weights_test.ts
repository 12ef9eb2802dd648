/** How payloads count by their shapes: no single one of three or more rules, and honest differences change nothing. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { type PayloadShape, sketchWidth } from "../../../core/update/payload_shape.ts";
import { countPayloads, type WeighedPayload } from "../../../core/orchestrator/merge/payloads/payload_weights.ts";

const sizes = [900, 100]; // a matrix and gains
const direction = (angle: number) => [Math.cos(angle), Math.sin(angle)];
const shape = (angle: number, [matrix, gains]: readonly [number, number] = [3, 1]): PayloadShape => ({
  tensorSquares: [matrix ** 2, gains ** 2],
  peakSquares: [],
  sketch: direction(angle),
});

const usual = Math.hypot(3, 1);

/** `length`: in usual ones; as long as its tensors by default. */
function payload(
  name: string,
  own: PayloadShape | null,
  { weight = 9, length }: { weight?: number; length?: number } = {},
): WeighedPayload {
  const whole = own === null ? usual : Math.hypot(...own.tensorSquares.map(Math.sqrt));
  return { node: nodeId(name), weight, length: length === undefined ? whole : length * usual, shape: own, trail: null };
}

const honest = [payload("a", shape(0)), payload("b", shape(0.8, [2.5, 1.3])), payload("d", shape(0.5, [2.8, 1.1]))];

/** What becomes of a payload beside three honest ones, which keep all they have. */
function counted(own: PayloadShape | null, options: { weight?: number; length?: number } = {}) {
  const all = countPayloads([...honest, payload("c", own, options)], {
    sizes,
    peakSizes: [],
    reference: usual,
    density: 1,
  });
  for (const node of ["a", "b", "d"]) assertEquals(all.get(nodeId(node)), 1);
  return all.get(nodeId("c"))!;
}

Deno.test("Payload weights: like its peers, half as long in a tensor or somewhat off their direction, it counts in full", () => {
  for (const own of [shape(0.4), shape(-0.8), shape(1.4), shape(0.4, [5.5, 2.1]), shape(0.4, [1, 0])]) {
    assertEquals(counted(own), 1);
  }
});

Deno.test("Payload weights: longer in one tensor than twice the middle, it is scaled down, and far longer left out", () => {
  assertAlmostEquals(counted(shape(0.4, [3, 3.9])), 2 * 1.3 / 3.9, 0.2);
  assertEquals(counted(shape(0.4, [0, 8])), 0);
});

Deno.test("Payload weights: who has done little may have any shape, and who is long in all parts alike is only scaled down", () => {
  assertEquals(counted(shape(0.4, [0.2, 0.9])), 1, "a newcomer's gains");
  const scale = counted(shape(0.4, [9, 3.6]));
  assert(scale > 0 && scale < 1, "beside short mates");
});

Deno.test("Payload weights: where peers have nothing in a tensor, average values are the measure", () => {
  const empty = [payload("a", shape(0, [3, 0])), payload("b", shape(0, [3, 0]))];
  const of = (gains: number) =>
    countPayloads([...empty, payload("c", shape(0, [3, gains]))], {
      sizes,
      peakSizes: [],
      reference: usual,
      density: 1,
    }).get(
      nodeId("c"),
    );
  assertEquals([of(1), of(1.8), of(5)], [1, 1, 0]);
});

Deno.test("Payload weights: against its peers, or apart from peers that agree, it is left out", () => {
  for (const angle of [Math.PI, Math.PI + 0.4, Math.PI / 2 + 0.5, -1.3]) {
    assertEquals(counted(shape(angle)), 0, `${angle}`);
  }
});

Deno.test("Payload weights: of three, two that go the other way do not push out the third", () => {
  const three = [payload("a", shape(0)), payload("b", shape(Math.PI)), payload("c", shape(Math.PI))];
  assertEquals(
    [...countPayloads(three, { sizes, peakSizes: [], reference: usual, density: 1 }).values()],
    [1, 1, 1],
  );
});

Deno.test("Payload weights: peers that do not agree are not a measure of a direction", () => {
  const apart = [0, Math.PI / 2, Math.PI, -Math.PI / 2].map((angle, i) => payload(`node ${i}`, shape(angle)));
  assertEquals(
    [...countPayloads(apart, { sizes, peakSizes: [], reference: usual, density: 1 }).values()],
    [1, 1, 1, 1],
  );
});

Deno.test("Payload weights: far shorter than its work lets expect, it is left out and nothing is noted; after little work it is not", () => {
  assertEquals(counted(shape(0.4), { length: 0 }), 0);
  assertEquals(counted(shape(0.4), { length: 0.1 }), 0);
  assertEquals(counted(shape(0.4), { length: 0.1, weight: 3 }), 1);
});

Deno.test("Payload weights: of two nobody is the outlier, and unknown shapes decide nothing", () => {
  const two = [payload("a", shape(0)), payload("b", shape(Math.PI, [0, 100]), { length: 100 })];
  assertEquals([...countPayloads(two, { sizes, peakSizes: [], reference: usual, density: 1 }).values()], [1, 1]);
  assertEquals(counted(null), 1);
});

Deno.test("Payload weights: replicas that came late or make no way do not push out one that is long in all tensors alike", () => {
  const short = [payload("a", shape(0, [0.3, 0.1])), payload("b", shape(Math.PI, [0.3, 0.1]))];
  const scaleBeside = (reference: number) =>
    countPayloads([...short, payload("c", shape(0), { weight: 18 })], { sizes, peakSizes: [], reference, density: 1 })
      .get(
        nodeId("c"),
      );
  assertEquals(scaleBeside(usual), 1, "the stage's last rounds are the measure");
  const scale = scaleBeside(0.1 * usual)!; // no such rounds: then it counts no more than both
  assertAlmostEquals(scale, 0.1, 1e-9);
});

Deno.test("Payload weights: of three, one with twice the weight and twice the length counts no more than the others together", () => {
  const fast = payload("c", shape(Math.PI, [5.7, 1.9]), { weight: 18 });
  const all = countPayloads([payload("a", shape(0)), payload("b", shape(0)), fast], {
    sizes,
    peakSizes: [],
    reference: usual,
    density: 1,
  });
  assertAlmostEquals(18 * all.get(nodeId("c"))! * fast.length, 2 * 9 * usual, 1e-9);
});

Deno.test("Payload weights: backwards in one kind of tensor only, it is left out; a kind with hardly any length has no direction", () => {
  const kinds = (first: number, second: number, share = 0.2): PayloadShape => ({
    tensorSquares: [9, 1],
    peakSquares: [],
    sketch: [first, second].flatMap((angle, kind) => [
      ...direction(angle).map((value) => value * Math.sqrt(kind === 0 ? 1 - share : share)),
      ...Array(sketchWidth - 2).fill(0),
    ]),
  });
  const scaleOf = (own: PayloadShape, share?: number) => {
    const peers = [0, 0.5, -0.5].map((angle, i) => payload(`peer ${i}`, kinds(angle, -angle, share)));
    const all = countPayloads([...peers, payload("c", own)], { sizes, peakSizes: [], reference: usual, density: 1 });
    for (const { node } of peers) assertEquals(all.get(node), 1);
    return all.get(nodeId("c"));
  };
  assertEquals(scaleOf(kinds(0.2, 0.3)), 1);
  assertEquals(scaleOf(kinds(0.2, Math.PI)), 0);
  assertEquals(scaleOf(kinds(0.2, Math.PI, 0.01), 0.01), 1);
});

Deno.test("Payload weights: a matrix that is long in one row or column, and as a whole like its peers', does not count in full", () => {
  const peaked = (row: number, column: number): PayloadShape => ({
    ...shape(0.4),
    peakSquares: [row ** 2, column ** 2],
  });
  const peers = ["a", "b", "d"].map((name) => payload(name, peaked(0.6, 0.8)));
  const of = (row: number, column: number) =>
    countPayloads([...peers, payload("c", peaked(row, column))], {
      sizes,
      peakSizes: [30, 30],
      reference: usual,
      density: 1,
    })
      .get(nodeId("c"))!;
  assertEquals([of(1.1, 0.8), of(0.6, 1.5)], [1, 1]);
  assertAlmostEquals(of(0.6, 2.8), 2 * 0.8 / 2.8, 1e-9);
  assertEquals([of(4, 0.8), of(0.6, 5)], [0, 0]);
});

Deno.test("Payload weights: of a few values in a small part chance decides, so sparse payloads may differ there", () => {
  const peers = ["a", "b", "d"].map((name) => payload(name, shape(0.4)));
  const of = (gains: number, density: number) =>
    countPayloads([...peers, payload("c", shape(0.4, [2, gains]))], { sizes, peakSizes: [], reference: usual, density })
      .get(nodeId("c"))!;
  assert(of(2.4, 1) < 1);
  assertEquals(of(2.4, 1 / 64), 1); // of 1.6 values there
  assert(of(9, 1 / 64) < 0.5);
});
