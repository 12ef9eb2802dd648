/** The distance of a claimed output from a repeated one, and what part of it rounding explains, for every format. */

import { assert, assertAlmostEquals, assertEquals, assertGreater, assertLess } from "@std/assert";
import { codecNames } from "../../../core/codec/codec_names.ts";
import { decodeWire, encodeWire, type Wire, wireRounding } from "../../../core/codec/wire.ts";
import { type Innovation, innovation } from "../../../core/score/innovation.ts";
import { judgeAsReferee } from "../../../core/score/verdict.ts";
import { prngOf } from "../../support/small_prng.ts";

const plain = { ofValue: 0, ofRow: 0, valuesHit: 1 };

Deno.test("Innovation: an error is a share of what the stage changed, not of its output", () => {
  const lazy = Float32Array.of(10, 10, 10, 10);
  const repeated = Float32Array.of(11, 10, 10, 10);
  const of = (claimed: Float32Array) => innovation({ claimed, repeated, lazy, width: 2, rounding: plain });
  assertEquals(of(repeated), { error: 0, equalShare: 1, beyondRounding: 0, rounding: 0 });
  assertAlmostEquals(of(lazy).error, 1);
  assertEquals(of(lazy).equalShare, 0.75);
});

Deno.test("Innovation: where the stage changes nothing, any difference is the worst error, and rounding explains it", () => {
  const repeated = Float32Array.of(4, 4);
  const rounding = { ofValue: 2 ** -7, ofRow: 0, valuesHit: 1 };
  const { error, beyondRounding, rounding: most } = innovation({
    claimed: Float32Array.of(4, 4.03),
    repeated,
    lazy: repeated,
    width: 2,
    rounding,
  });
  assertEquals([error, beyondRounding, most], [1e6, 0, 1e6]);
});

const below = prngOf(7);
const gaussian = () => Array.from({ length: 12 }, () => below(1_000) / 1_000).reduce((sum, each) => sum + each, -6);

/** `noise`: a share of every value, as two devices' arithmetic may differ. */
function found(wire: Wire, make: (honest: Float32Array) => Float32Array): Innovation {
  const honest = Float32Array.from({ length: wire.rows * wire.width }, () => 1e-3 * gaussian());
  const through = (values: Float32Array) => decodeWire(wire, encodeWire(wire, values));
  return innovation({
    claimed: through(make(honest)),
    repeated: through(honest),
    lazy: null,
    width: wire.width,
    rounding: wireRounding(wire),
  });
}

const shape = { rows: 256, width: 24 };
const wires: readonly Wire[] = [
  ...codecNames.flatMap((codec) =>
    (["forward", "gradient"] as const).map((direction): Wire => ({ codec, direction, ...shape }))
  ),
  ...([4, 5, 6] as const).map((gradientBits): Wire => ({
    ...{ codec: "q5block", direction: "gradient", gradientBits },
    ...shape,
  })),
];

for (const wire of wires) {
  const name = [wire.codec, wire.direction, wire.gradientBits].join(" ").trim();

  Deno.test(`Innovation: codec ${name}: another device's noise is within rounding, a lie is proven`, () => {
    const noisy = found(wire, (honest) => honest.map((value) => value * (1 + 2e-6 * gaussian())));
    assertEquals(noisy.beyondRounding < 1e-5, true, `${noisy.beyondRounding}`);
    assertLess(noisy.error, noisy.rounding + 1e-5);
    assertLess(noisy.error, 0.025, "far below the default tolerance");
    const flipped = found(wire, (honest) => honest.map((value) => -value));
    assertGreater(flipped.beyondRounding, 1);
    const scaled = found(wire, (honest) => honest.map((value) => 3 * value));
    assertGreater(scaled.beyondRounding, 1);
    const zero = found(wire, (honest) => honest.map(() => 0));
    assertGreater(zero.beyondRounding, 0.5);
    const others = found(wire, (honest) => honest.toReversed());
    assertGreater(others.beyondRounding, 0.5);
    assert(others.error >= others.beyondRounding);
  });

  Deno.test(`Innovation: codec ${name}: a lie of less than a code in every value is proven too`, () => {
    const tolerance = 0.05;
    const shrunk = found(wire, (honest) => honest.map((value) => 0.82 * value));
    assertEquals(judged(shrunk, tolerance), "madeUp", JSON.stringify(shrunk));
    const noisy = found(wire, (honest) => honest.map((value) => value + 1e-4 * gaussian()));
    assertEquals(judged(noisy, tolerance), "madeUp", JSON.stringify(noisy));
    // Parameters shown in 16 bits move results by about 1e-4 of themselves; it takes a hundred times as much to be off.
    const shown = found(wire, (honest) => honest.map((value) => value + 1e-7 * gaussian()));
    assertLess(shown.error, tolerance / 4);
    assert(judged(shown, tolerance) !== "madeUp", JSON.stringify(shown));
    const honest = found(wire, (honest) => honest.map((value) => value * (1 + 2e-6 * gaussian())));
    assertEquals(judged(honest, tolerance), "honest", JSON.stringify(honest)); // so a false accuser is named
  });
}

function judged({ error, ...rest }: Innovation, tolerance: number): ReturnType<typeof judgeAsReferee> {
  return judgeAsReferee({ innovationError: error, lossError: null, ...rest }, tolerance);
}

Deno.test("Innovation: one token that is off is not proof, and two are", () => {
  const width = 24;
  const repeated = Float32Array.from({ length: 32 * width }, () => 1e-3 * gaussian());
  const off = (rows: number) =>
    innovation({
      claimed: repeated.map((value, i) => i < rows * width ? 1.4 * value : value),
      ...{ repeated, lazy: null, width, rounding: plain },
    });
  assertGreater(off(1).error, 0.05);
  assertLess(off(1).beyondRounding, 1e-6);
  assertGreater(off(2).beyondRounding, 0.05);
  const wild = repeated.map((value, i) => i < width ? 30 * value : value);
  const { beyondRounding } = innovation({ claimed: wild, repeated, lazy: null, width, rounding: plain });
  assertGreater(beyondRounding, 1, "nor is a token more off than the stage changes it");
});
