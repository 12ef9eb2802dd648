/**
 * Every operation of the reference on its own: gradients against central finite differences, hand-worked values, and
 * behaviour at extreme inputs.
 */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { adamw, type AdamwState } from "../../lab/reference/adamw.ts";
import { attention, attentionBackward } from "../../lab/reference/attention.ts";
import {
  decodeBottleneck,
  decodeBottleneckBackward,
  encodeBottleneck,
  encodeBottleneckBackward,
} from "../../lab/reference/codecs/iota.ts";
import { crossEntropy, crossEntropyBackward } from "../../lab/reference/cross_entropy.ts";
import { embedding, embeddingBackward } from "../../lab/reference/embedding.ts";
import { linear, linearBackward } from "../../lab/reference/linear.ts";
import { rmsNorm, rmsNormBackward } from "../../lab/reference/rms_norm.ts";
import { rope, ropeBackward } from "../../lab/reference/rope.ts";
import { silu, siluBackward, swiglu, swigluBackward } from "../../lab/reference/swiglu.ts";
import { checkGradient, dot, noise } from "../../support/finite_difference.ts";

Deno.test("linear: gradient agrees with finite differences, and accumulates", () => {
  const shape = { rows: 3, inputs: 5, outputs: 4 };
  const x = noise("x", 15), matrix = noise("w", 20), dy = noise("dy", 12);
  const dMatrix = new Float64Array(20);
  const dx = linearBackward({ x, matrix, dy, dMatrix }, shape);
  const loss = () => dot(linear({ x, matrix }, shape), dy);
  checkGradient({ name: "x", at: x, gradient: dx, loss });
  checkGradient({ name: "matrix", at: matrix, gradient: dMatrix, loss });
  const once = dMatrix.slice();
  linearBackward({ x, matrix, dy, dMatrix }, shape);
  assertEquals(dMatrix, once.map((g) => 2 * g));
});

Deno.test("linear: a hand-worked product", () => {
  const y = linear(
    { x: Float64Array.of(1, 2), matrix: Float64Array.of(3, 4, 5, 6) },
    { rows: 1, inputs: 2, outputs: 2 },
  );
  assertEquals([...y], [11, 17]);
});

Deno.test("rmsNorm: gradient agrees with finite differences", () => {
  const shape = { rows: 3, width: 6, epsilon: 1e-2 };
  const x = noise("x", 18), gain = noise("g", 6), dy = noise("dy", 18);
  const dGain = new Float64Array(6);
  const dx = rmsNormBackward({ x, gain, dy, dGain }, shape);
  const loss = () => dot(rmsNorm({ x, gain }, shape), dy);
  checkGradient({ name: "x", at: x, gradient: dx, loss });
  checkGradient({ name: "gain", at: gain, gradient: dGain, loss });
});

Deno.test("rmsNorm: a row of zeros stays zero", () => {
  const y = rmsNorm({ x: new Float64Array(4), gain: noise("g", 4) }, { rows: 1, width: 4, epsilon: 1e-5 });
  assert(y.every((value) => value === 0));
});

Deno.test("rope: pairs (i, i + hd/2), position 0 unchanged, backward is the rotation back", () => {
  const shape = { sequences: 2, positions: 5, heads: 3, headWidth: 8, base: 100 };
  const x = noise("x", 2 * 5 * 3 * 8), dy = noise("dy", x.length);
  const y = rope(x, shape);
  assertEquals(y.slice(0, 24), x.slice(0, 24));
  const turned = rope(Float64Array.of(0, 0, 0, 0, 1, 0, 0, 0), {
    ...shape,
    sequences: 1,
    positions: 2,
    heads: 1,
    headWidth: 4,
  });
  assertAlmostEquals(turned[4]!, Math.cos(1));
  assertAlmostEquals(turned[6]!, Math.sin(1));
  checkGradient({ name: "x", at: x, gradient: ropeBackward(dy, shape), loss: () => dot(rope(x, shape), dy) });
  const back = ropeBackward(y, shape);
  back.forEach((value, i) => assertAlmostEquals(value, x[i]!));
});

for (const kvHeads of [1, 2, 4]) {
  Deno.test(`attention: gradient agrees with finite differences, 4 query and ${kvHeads} key/value heads`, () => {
    const shape = { sequences: 2, positions: 5, heads: 4, kvHeads, headWidth: 3 };
    const q = noise("q", 2 * 5 * 4 * 3), k = noise("k", 2 * 5 * kvHeads * 3), v = noise("v", k.length);
    const dOut = noise("dOut", q.length);
    const { probabilities } = attention({ q, k, v }, shape);
    const { dq, dk, dv } = attentionBackward({ q, k, v, probabilities, dOut }, shape);
    const loss = () => dot(attention({ q, k, v }, shape).out, dOut);
    checkGradient({ name: "q", at: q, gradient: dq, loss });
    checkGradient({ name: "k", at: k, gradient: dk, loss });
    checkGradient({ name: "v", at: v, gradient: dv, loss });
  });
}

Deno.test("attention: rows sum to one, the future has no weight, the first token sees only itself", () => {
  const shape = { sequences: 1, positions: 4, heads: 2, kvHeads: 1, headWidth: 2 };
  const q = noise("q", 16), k = noise("k", 8), v = noise("v", 8);
  const { out, probabilities } = attention({ q, k, v }, shape);
  for (let row = 0; row < 8; row++) {
    const t = row % 4;
    const ps = probabilities.subarray(row * 4, row * 4 + 4);
    assertAlmostEquals(ps.reduce((a, b) => a + b), 1);
    ps.forEach((p, s) => assertEquals(p > 0, s <= t));
  }
  assertEquals([...out.subarray(0, 4)], [v[0]!, v[1]!, v[0]!, v[1]!]);
});

Deno.test("attention: scores of a thousand stay finite", () => {
  const shape = { sequences: 1, positions: 3, heads: 1, kvHeads: 1, headWidth: 2 };
  const q = noise("q", 6, 1e3), k = noise("k", 6, 1e3), v = noise("v", 6);
  const { out, probabilities } = attention({ q, k, v }, shape);
  const { dq, dk, dv } = attentionBackward({ q, k, v, probabilities, dOut: noise("d", 6) }, shape);
  for (const values of [out, dq, dk, dv]) assert(values.every(Number.isFinite));
});

Deno.test("silu and swiglu: gradients agree with finite differences, also far from zero", () => {
  const gate = noise("gate", 12, 8), up = noise("up", 12), dy = noise("dy", 12);
  checkGradient({ name: "silu", at: gate, gradient: siluBackward({ x: gate, dy }), loss: () => dot(silu(gate), dy) });
  const { dGate, dUp } = swigluBackward({ gate, up, dy });
  const loss = () => dot(swiglu({ gate, up }), dy);
  checkGradient({ name: "gate", at: gate, gradient: dGate, loss });
  checkGradient({ name: "up", at: up, gradient: dUp, loss });
  const extreme = Float64Array.of(-1e4, 1e4);
  assertEquals([...silu(extreme)], [-0, 1e4]);
  assert(siluBackward({ x: extreme, dy: Float64Array.of(1, 1) }).every(Number.isFinite));
});

Deno.test("embedding: a token that occurs twice receives both gradients", () => {
  const tokens = Uint32Array.of(2, 0, 2), table = noise("table", 4 * 3), dx = noise("dx", 9);
  const dTable = new Float64Array(12);
  embeddingBackward({ tokens, dx, dTable }, 3);
  checkGradient({ name: "table", at: table, gradient: dTable, loss: () => dot(embedding({ tokens, table }, 3), dx) });
});

Deno.test("crossEntropy: gradient of the mean agrees with finite differences", () => {
  const logits = noise("logits", 3 * 5, 3), targets = Uint32Array.of(4, 0, 2);
  const loss = () => crossEntropy({ logits, targets }, 5).reduce((a, b) => a + b) / 3;
  checkGradient({ name: "logits", at: logits, gradient: crossEntropyBackward({ logits, targets }, 5), loss });
});

Deno.test("crossEntropy: equal logits cost ln(V); huge logits neither overflow nor lose the answer", () => {
  const even = { logits: new Float64Array(8), targets: Uint32Array.of(3) };
  assertAlmostEquals(crossEntropy(even, 8)[0]!, Math.log(8));
  const huge = { logits: Float64Array.of(1e4, -1e4, 0, 1e4, -1e4, 0), targets: Uint32Array.of(0, 1) };
  assertEquals([...crossEntropy(huge, 3)], [0, 2e4]);
  assertEquals([...crossEntropyBackward(huge, 3)], [0, 0, 0, 0.5, -0.5, 0]);
});

Deno.test("bottleneck: encoder and decoder gradients agree with finite differences", () => {
  const shape = { rows: 3, width: 6, wireWidth: 2 };
  const f = noise("f", 18), a = noise("a", 18), encoder = noise("e", 12), dz = noise("dz", 6);
  const dEncoder = new Float64Array(12);
  const { df, da } = encodeBottleneckBackward({ f, encoder, dz, dEncoder }, shape);
  const sent = () => dot(encodeBottleneck({ f, a, encoder }, shape), dz);
  checkGradient({ name: "f", at: f, gradient: df, loss: sent });
  checkGradient({ name: "a", at: a, gradient: da, loss: sent });
  checkGradient({ name: "encoder", at: encoder, gradient: dEncoder, loss: sent });

  const z = noise("z", 6), decoder = noise("d", 12), dx0 = noise("dx0", 18), dDecoder = new Float64Array(12);
  const x0 = decodeBottleneck({ z, decoder }, shape);
  const received = () => dot(decodeBottleneck({ z, decoder }, shape), dx0);
  checkGradient({
    name: "z",
    at: z,
    gradient: decodeBottleneckBackward({ z, decoder, x0, dx0, dDecoder }, shape),
    loss: received,
  });
  checkGradient({ name: "decoder", at: decoder, gradient: dDecoder, loss: received });
});

Deno.test("adamw: two steps by hand: bias correction, decay of matrices only, scaled gradient", () => {
  const options = {
    learningRate: 0.5,
    gradientScale: 0.25,
    beta1: 0.5,
    beta2: 0.75,
    epsilon: 0,
    weightDecay: 0.1,
  };
  const state: AdamwState = {
    parameters: Float64Array.of(2, 2),
    first: new Float64Array(2),
    second: new Float64Array(2),
    decayLength: 1,
    steps: 0,
  };
  adamw(state, Float64Array.of(4, -4), options); // scaled: 1, -1; corrected direction is the sign
  assertEquals(state.steps, 1);
  assertEquals([...state.first], [0.5, -0.5]);
  assertEquals([...state.second], [0.25, 0.25]);
  assertAlmostEquals(state.parameters[0]!, 2 - 0.5 * (1 + 0.2), 1e-6);
  assertAlmostEquals(state.parameters[1]!, 2.5, 1e-6);
  adamw(state, Float64Array.of(8, 0), options);
  // first: 0.5*0.5 + 0.5*2 = 1.25, corrected by 1 - 0.25; second: 0.75*0.25 + 0.25*4 = 1.1875, corrected by 1 - 0.5625.
  const direction = (1.25 / 0.75) / Math.sqrt(1.1875 / 0.4375);
  assertAlmostEquals(state.parameters[0]!, 1.4 - 0.5 * (direction + 0.14), 1e-6);
});
