/** Miners that pause: they hand their work back, others go on, and they come back as themselves. */

import { assert, assertEquals } from "@std/assert";
import { PauseWatch } from "../../cli/node/idle/pause_watch.ts";
import type { PauseRules } from "../../cli/node/idle/rules.ts";
import { parseSchedule } from "../../cli/node/idle/schedule.ts";
import { World } from "../lab/world/world.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { slowTest } from "../support/whole.ts";

const minuteMs = 60_000;

/** A watch with a clock of its own, which begins at eight in the evening. */
function watchOf(hours: string) {
  const parsed = parseSchedule(hours);
  assert(parsed.ok);
  const rules: PauseRules = { schedule: parsed.schedule, idleOnly: false, mainsOnly: false, maxCelsius: null };
  const clock = new ManualTimers();
  const beginMs = new Date(2026, 0, 5, 20, 0).getTime() - clock.nowMs();
  const watch = new PauseWatch({
    rules,
    timers: clock,
    now: () => new Date(beginMs + clock.nowMs()),
    readTimes: () => ({ allMs: 0, idleMs: 0, ownMs: 0 }),
    readSensors: null,
  });
  return { watch, clock };
}

slowTest(
  "Pausing: a miner leaves at the end of its hours, joins again when they begin, and no microbatch is lost",
  async () => {
    const config = tinyConfig({ swarm: { replicas: 2 }, train: { steps: 24, stepsPerRound: 4 }, deterministic: false });
    const { watch, clock } = watchOf("20:00-20:10, 21:00-22:00");
    const pauses: string[] = [];
    const swarm = new World({
      config,
      watch: (record) => {
        if (record.type !== "stepClosed") return;
        if (record.step === 6) clock.advance(15 * minuteMs);
        if (record.step === 10) clock.advance(50 * minuteMs);
      },
    });
    await swarm.startAll(config.pipeline.stages * 2 - 1);
    await watch.start();
    const paused = await swarm.addMiner({ gate: watch, onPause: (event) => pauses.push(event) });
    const { finished } = await swarm.run();
    watch.stop();
    assert(finished);
    assertEquals(pauses, ["paused: outside its hours (20:00-20:10, 21:00-22:00)", "resumed"]);
    const about = swarm.records.all.filter((record) => "node" in record && record.node === paused.address);
    const moves = about.map(({ type }) => type).filter((type) =>
      ["nodeJoined", "nodeLost", "nodeReady"].includes(type)
    );
    assertEquals(moves, ["nodeJoined", "nodeReady", "nodeLost", "nodeJoined", "nodeReady"]);
    const { counters, step } = swarm.orchestrator.state;
    assertEquals([step, counters.microbatchesIssued], [24, counters.microbatchesCredited]);
    assertEquals((await paused.role.finished).finished, true, "and it ends with the run");
  },
);

Deno.test("Pausing: a miner outside its hours waits, and stops when it is asked to", async () => {
  const swarm = new World({ config: tinyConfig({ swarm: { replicas: 1 } }) });
  const { watch } = watchOf("3:00-4:00");
  await watch.start();
  const { role } = await swarm.addMiner({ gate: watch });
  await swarm.quiet();
  assertEquals(swarm.records.count("nodeJoined"), 0);
  role.stop("asked to");
  assertEquals(await role.finished, { finished: false, reason: "asked to" });
  watch.stop();
});
