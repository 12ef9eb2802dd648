/**
 * The weight duty in virtual time: fifty epochs for each seed against a model chain, with whole kinds of faults switched on and off.
 *
 * Never two calls of ours in one epoch; no window missed that was clean at its end; without faults every row is seen in storage.
 */

import { assert, assertEquals } from "@std/assert";
import { dutyHealth } from "../../chain/duty/health.ts";
import { DutyWorld, type FaultKind, faultKinds } from "../support/chain/duty_world.ts";
import { prngOf } from "../support/small_prng.ts";

const epochs = 50;
const seeds = Number(Deno.env.get("SEEDS") ?? 24);
const only = Deno.env.get("SEED");
const seedList = only === undefined ? Array.from({ length: seeds }, (_, i) => i + 1) : [Number(only)];

function worldOf(seed: number, faults: readonly FaultKind[]): DutyWorld {
  const below = prngOf(seed * 7_919);
  return new DutyWorld(seed, faults, {
    formula: below(2) === 0 ? "legacy" : "stateful",
    tempoBlocks: [20, 36, 99, 120][below(4)]!,
    mode: (["plain", "salted", "timelocked"] as const)[below(3)]!,
  });
}

function check(world: DutyWorld, where: string): void {
  for (const [i, epoch] of world.epochs.entries()) {
    assert(epoch.landed <= 1, `${where}: ${epoch.landed} calls landed in the epoch before block ${epoch.endBlock}`);
    if (i === 0 || epoch.isExcused) continue;
    assertEquals(epoch.landed, 1, `${where}: the window before block ${epoch.endBlock} was missed`);
  }
}

Deno.test(`Weight duty: without faults every epoch has its weights, seen in storage (${seedList.length} seeds)`, () => {
  for (const seed of seedList) {
    const world = worldOf(seed, []);
    world.run(epochs);
    check(world, `SEED=${seed}`);
    assertEquals(world.refusals, [], `SEED=${seed}`);
    const landed = world.records.filter((record) => record.type === "landed" && record.purpose === "set").length;
    const checked = world.records.filter(({ type }) => type === "rowChecked").length;
    assert(!world.records.some(({ type }) => type === "rowMissing"), `SEED=${seed}: a row is missing`);
    assert(landed >= epochs - 1 && checked >= landed - 3, `SEED=${seed}: ${landed} landed, ${checked} checked`);
    assert(dutyHealth(world.state).level === "good", `SEED=${seed}: ${dutyHealth(world.state).sentences}`);
  }
});

Deno.test("Weight duty: epochs of a few blocks have their weights too", () => {
  for (const formula of ["legacy", "stateful"] as const) {
    for (const mode of ["plain", "salted", "timelocked"] as const) {
      // A pulse is awaited three blocks after the reveal block, so timelocked commits of shorter epochs expire on any chain.
      for (const tempoBlocks of mode === "timelocked" ? [5, 10] : [2, 3, 5, 10]) {
        const world = new DutyWorld(tempoBlocks, [], { formula, tempoBlocks, mode });
        world.chain.change({ weightsRateLimitBlocks: 0 });
        world.run(epochs);
        const where = `${formula} ${mode} ${tempoBlocks}`;
        check(world, where);
        assert(world.refusals.length === 0 && !world.records.some(({ type }) => type === "rowMissing"), where);
      }
    }
  }
});

for (const kind of faultKinds) {
  Deno.test(`Weight duty: lives through ${kind} (${seedList.length} seeds)`, () => {
    for (const seed of seedList) {
      const world = worldOf(seed, [kind]);
      world.run(epochs);
      check(world, `SEED=${seed} ${kind}`);
      const excused = world.epochs.filter(({ isExcused }) => isExcused).length;
      assert(excused < world.epochs.length, `SEED=${seed} ${kind}: the world excuses everything`);
    }
  });
}

Deno.test(`Weight duty: lives through faults of all kinds at once (${seedList.length} seeds)`, () => {
  for (const seed of seedList) {
    const below = prngOf(seed);
    const faults = faultKinds.filter(() => below(2) === 0);
    const world = worldOf(seed, faults);
    world.run(epochs);
    check(world, `SEED=${seed} ${faults}`);
  }
});
