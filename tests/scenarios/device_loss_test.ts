/** Nodes whose device is lost: a miner rebuilds its stage and nothing is lost, or it comes back as a newcomer, or it ends. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { alwaysOpen } from "../../cli/node/pausing_role.ts";
import { OwnStateFolder } from "../../cli/node/own_state_folder.ts";
import { LastingDevice, LostDeviceError } from "../../cli/device/lasting_device.ts";
import { type KeptLimits, usualLimits } from "../../cli/device/lasting_stage.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import { losingWorker, type StageCall, steadyWorker } from "../support/losing/losing_host.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { isWhole } from "../support/whole.ts";

/** A device whose n-th worker is lost by the n-th rule, and whose later ones are not. */
function losing(rules: readonly ((call: StageCall) => boolean)[], kept: KeptLimits = usualLimits) {
  const left = rules.map(losingWorker);
  const open = (): ComputeWorker => left.shift() ?? steadyWorker();
  const losses: string[] = [];
  const rebuilt: number[] = [];
  const device = new LastingDevice(open(), {
    reopen: () => Promise.resolve(open()),
    timers: { after: (ms, callback) => (ms < 10_000 && queueMicrotask(callback), () => {}), steadyMs: () => 0 }, // nothing is late
    onLoss: ({ reason }) => losses.push(reason),
    onRebuilt: ({ calls }) => rebuilt.push(calls),
    kept,
  });
  return { device, losses, rebuilt };
}

/** Lost with the n-th call of this method. */
function at(method: string, wanted: number): (call: StageCall) => boolean {
  let seen = 0;
  return (call) => call.method === method && ++seen === wanted;
}

const config = configOf({ swarm: { replicas: 1 }, outer: { learningRate: 0.7, momentum: 0.9 }, deterministic: true });

/** The stages' parameters after each round. */
const parametersOf = (swarm: World) => swarm.rounds.map(({ sources }) => sources);

async function calmRun(): Promise<World> {
  const swarm = new World({ config });
  await swarm.startAll();
  await swarm.runThrough();
  return swarm;
}

Deno.test("Device loss: wherever a miner's device is lost, the run ends with the bits of one without losses", async (t) => {
  const calm = await calmRun();
  const rules: Record<string, ((call: StageCall) => boolean)[]> = {
    "while its parameters are placed": [at("writePart", 1)],
    "in a round's first step": [at("backward", 2)],
    "in a later step": [at("backward", 11)],
    "in a forward": [at("forward", 6)],
    "while a gradient is committed": [at("gradientSquareSum", 2)],
    "with a step": [at("step", 2)],
    "while a payload is formed": [at("readPart", 1)],
    "while a merge is applied": [at("loadParameters", 1)],
    "while its own state is saved": [at("readOptimizer", 1)],
    "in the second round": [at("backward", 15)],
    "twice in a row": [at("backward", 6), at("backward", 2)],
  };
  const quick = ["while its parameters are placed", "in a later step", "with a step", "while a merge is applied"];
  for (const [when, rule] of Object.entries(rules)) {
    if (!isWhole && !quick.includes(when)) continue;
    await t.step(when, () =>
      withScratchFolder(async (folder) => {
        const { device, losses, rebuilt } = losing(rule);
        const ownState = new OwnStateFolder(folder, { run: () => "a", warn: (text) => assert(false, text) });
        const swarm = new World({ config });
        await swarm.addMiner({ device, ownState });
        await swarm.startAll(2);
        await swarm.run(); // without moving time: the disk's is not the swarm's
        assertWhole(swarm);
        assertEquals([losses.length, rebuilt.length > 0], [rule.length, true]);
        assertEquals(recordsOf(swarm, "nodeLost"), []);
        assertEquals(parametersOf(swarm), parametersOf(calm));
      }));
  }
});

Deno.test("Device loss: a miner that cannot rebuild its stage leaves and comes back, and no microbatch is lost", async () => {
  const { device, losses, rebuilt } = losing([at("backward", 9)], { logBytes: 1, copyBytes: 1 });
  const swarm = new World({ config: configOf() });
  const member = await swarm.addMiner({ device, gate: alwaysOpen });
  await swarm.startAll(5);
  await swarm.runThrough();
  assertWhole(swarm);
  assertEquals([losses.length, rebuilt.length], [1, 0]);
  const about = swarm.records.all.filter((record) => "node" in record && record.node === member.address);
  const moves = about.map(({ type }) => type).filter((type) => ["nodeJoined", "nodeLost", "nodeReady"].includes(type));
  assertEquals(moves.slice(0, 4), ["nodeJoined", "nodeReady", "nodeLost", "nodeJoined"]);
  assertEquals((await member.role.finished).finished, true);
});

Deno.test("Device loss: a miner whose device cannot do a task ends with a sentence, and the run goes on without it", async () => {
  const never = (call: StageCall) =>
    call.method === "backward" || call.method === "turnaround" || call.method === "forward";
  const { device, losses } = losing([never, never, never]);
  const swarm = new World({ config: configOf() });
  const member = await swarm.addMiner({ device, gate: alwaysOpen });
  const ended = assertRejects(() => member.role.finished, LostDeviceError);
  await swarm.startAll(5);
  await swarm.runThrough();
  assertWhole(swarm);
  const error = await ended;
  assertMatch(`${error.message} ${error.next}`, /lost 3 times without finishing.*--device cpu/);
  assertEquals(losses.length, 2);
});

Deno.test("Device loss: a validator opens its stages again and answers as if nothing had happened", async () => {
  const audited = configOf({ swarm: { replicas: 1, validators: 0 }, deterministic: true });
  const { device, losses } = losing([at("evaluate", 2), at("forward", 3)]);
  const swarm = new World({ config: audited });
  swarm.addValidator({ device });
  await swarm.startAll();
  await swarm.runThrough();
  assertWhole(swarm);
  assertEquals(losses.length, 2);
  const calm = new World({ config: audited });
  calm.addValidator();
  await calm.startAll();
  await calm.runThrough();
  const found = (of: World) =>
    recordsOf(of, "evaluated").map(({ round, loss }) => [round, loss]).sort(([a = 0], [b = 0]) => a - b);
  assertEquals(found(swarm).length > 0, true);
  assertEquals(found(swarm), found(calm));
});
