/** The weight duty in single situations: what it sends, what it does not, and what it reports. */

import { assert, assertEquals } from "@std/assert";
import type { ChainView, DutyState } from "../../../chain/duty/duty.ts";
import { dutyHealth } from "../../../chain/duty/health.ts";
import { weightDuty } from "../../../chain/duty/machine.ts";
import { planRow } from "../../../chain/duty/decision.ts";
import { readView } from "../../../chain/duty/read_view.ts";
import { leadBlocks, sendWindow } from "../../../chain/duty/window.ts";
import { encodeAddress } from "../../../chain/wallet/ss58.ts";
import { hotkeys, lead, lookAt, sendsOf, situation, validator } from "../../support/chain/duty_situation.ts";
import { modelNetuid } from "../../support/chain/model_chain.ts";

const saidOf = (state: DutyState) => dutyHealth(state).sentences.join(" | ");

Deno.test("Window: it opens before the epoch by margin and place, and not all validators share a place", () => {
  const { chain } = situation();
  const window = sendWindow(chain.epoch(), validator)!;
  assertEquals(window, {
    ...{ landingBlock: 1_001, epochIndex: 40, epochStartBlock: 1_000 },
    ...{ startBlock: 1_100 - lead, endBlock: 1_100 },
  });
  const leads = Array.from({ length: 200 }, (_, i) => leadBlocks(360, encodeAddress(new Uint8Array(32).fill(i))));
  assert(new Set(leads).size > 25 && Math.min(...leads) >= 32 && Math.max(...leads) <= 64, `${leads}`);
});

Deno.test("Window: a call sent one block before an epoch counts for the next", () => {
  const { chain } = situation();
  while (chain.block < 1_099) chain.advance();
  const window = sendWindow(chain.epoch(), validator)!;
  assertEquals([window.landingBlock, window.epochStartBlock, window.endBlock], [1_100, 1_100, 1_200]);
  assertEquals(sendWindow({ ...chain.epoch(), tempoBlocks: 0 }, validator), null);
});

Deno.test("Duty: waits for its window, sends the row once, sees it in storage", () => {
  const world = situation();
  const { chain, state } = world;
  assertEquals(sendsOf(lookAt(1_020, world)), []);
  const blocks = 1_100 - lead - 1_020;
  assertEquals(saidOf(state), `weights land in ${blocks} blocks (${Math.round(blocks / 5)} min)`);
  const sent = lookAt(1_100 - lead - 1, world);
  assertEquals(sendsOf(sent), [{
    ...{ type: "send", attempt: 1 },
    call: {
      ...{ type: "setWeights", netuid: modelNetuid, mechanism: 0, uids: [1, 2], values: [65_535, 21_845] },
      versionKey: 3n,
    },
  }]);
  assertEquals(lookAt(1_100 - lead, world), []); // the answer comes first
  const call = sendsOf(sent)[0]!;
  assert(call.type === "send" && chain.execute(validator, call.call) === null);
  const receipt = { status: "included", block: chain.block, extrinsicHash: "0x" } as const;
  weightDuty.step(state, { type: "answered", attempt: 1, receipt }, 0);
  assert(saidOf(state).includes(`newest weights: set at block ${chain.block}, which a fork can still undo`));
  assertEquals(sendsOf(lookAt(chain.block + 1, world)), []);
  assert(saidOf(state).includes(`last weights in force: set at block ${chain.block - 1}, row checked`), saidOf(state));
  assertEquals(dutyHealth(state).level, "good");
});

Deno.test("Duty: reports an obstacle in plain words, and sends nothing", () => {
  const cases: [string, "waiting" | "alarm", RegExp, (world: ReturnType<typeof situation>) => void][] = [
    [
      "version key",
      "alarm",
      /requires weights of version 4, and this program makes version 3: update this program/,
      ({ chain }) => chain.change({ weightsVersionKey: 4n }),
    ],
    [
      "stake",
      "waiting",
      /stake 5\.00 is below the threshold 7\.00: stake more on the hotkey \(`iota chain stake --amount 2\.00`\)/,
      ({ chain }) => chain.change({ stakeThresholdRao: 7_000_000_000n }),
    ],
    ["permit", "waiting", /no validator permit yet: the next epoch gives one; epoch in \d+ blocks/, ({ chain }) => {
      chain.neurons[0] = { ...chain.neurons[0]!, hasPermit: false };
    }],
    [
      "permit of others",
      "waiting",
      /no validator permit yet: stake more on the hotkey \(`iota chain stake --amount 4\.00`\), and wait for an epoch/,
      ({ chain }) => {
        chain.change({ maxValidators: 1 });
        chain.neurons[0] = { ...chain.neurons[0]!, hasPermit: false };
        chain.neurons[1] = { ...chain.neurons[1]!, hasPermit: true, stakeRao: 9_000_000_000n };
      },
    ],
    [
      "registration",
      "alarm",
      /not registered on subnet 9; register it: `iota chain register`/,
      ({ chain }) => chain.replace(0, hotkeys[3]! + "x"),
    ],
    ["mechanism", "alarm", /no mechanism 0/, ({ chain }) => chain.change({ mechanisms: 0 })],
    ["no scores", "waiting", /no scores yet/, ({ state }) => state.scores = null],
    ["no miner left", "alarm", /the scores give no valid weights/, ({ chain }) => {
      for (const uid of [1, 2]) chain.replace(uid, encodeAddress(new Uint8Array(32).fill(90 + uid)));
    }],
    [
      "too few",
      "alarm",
      /requires at least 3 weights: only 2 are not zero/,
      ({ chain }) => chain.change({ minAllowedWeights: 3 }),
    ],
    [
      "rate limit",
      "waiting",
      /accepts weights every 900 blocks; the next land in 301 blocks \(60 min\)/,
      ({ chain }) => {
        chain.change({ weightsRateLimitBlocks: 900 });
      },
    ],
    ["tempo", "waiting", /runs no epochs/, ({ chain }) => chain.change({ tempoBlocks: 0 })],
  ];
  for (const [name, level, words, arrange] of cases) {
    const world = situation();
    while (world.chain.block < 1_098) world.chain.advance();
    arrange(world);
    assertEquals(sendsOf(lookAt(1_099 - (name === "rate limit" ? 0 : 1), world)), [], name);
    assert(words.test(saidOf(world.state)), `${name}: ${saidOf(world.state)}`);
    assertEquals(dutyHealth(world.state).level, level, name);
  }
});

Deno.test("Rows: a hotkey that is gone or came back after its score is dropped", () => {
  const { chain, state } = situation();
  chain.replace(1, encodeAddress(new Uint8Array(32).fill(9))); // gone
  chain.neurons[2] = { ...chain.neurons[2]!, registeredAtBlock: 1_001 }; // again, after the score
  const scores = {
    round: 6,
    block: 1_000,
    byHotkey: { [hotkeys[1]!]: 3, [hotkeys[2]!]: 1, [hotkeys[3]!]: 2, none: 7 },
  };
  const planned = planRow({
    scores,
    metagraph: chain.metagraph(),
    own: chain.neurons[0]!,
    parameters: chain.parameters,
  });
  assertEquals(planned, { ok: true, row: { uids: [3], values: [65_535] } });
  assert(state.scores !== null);
});

Deno.test("Duty: an unanswered call is not repeated until the chain shows that it cannot land", () => {
  const world = situation();
  const { chain, state } = world;
  const sent = lookAt(1_090, world);
  assertEquals(sendsOf(sent).length, 1);
  weightDuty.step(state, { type: "answered", attempt: 1, receipt: { status: "unknown", why: "timeout" } }, 0);
  for (let block = 1_091; block < 1_096; block++) assertEquals(sendsOf(lookAt(block, world)), [], `block ${block}`);
  assert(saidOf(state).includes("no answer to weights sent at block 1090"));
  assertEquals(sendsOf(lookAt(1_096, world)).length, 1); // six blocks: its era is over
  assertEquals(state.attempts, 2);
  assert(chain.block === 1_096);
});

Deno.test("Duty: a restart in the middle of a call learns from the chain that it landed", () => {
  const world = situation();
  const call = sendsOf(lookAt(1_090, world))[0]!;
  const loaded = { chain: world.chain, state: JSON.parse(JSON.stringify(world.state)) as DutyState };
  weightDuty.step(loaded.state, { type: "restarted" }, 0);
  world.chain.advance();
  assert(call.type === "send" && world.chain.execute(validator, call.call) === null);
  assertEquals(sendsOf(lookAt(1_091, loaded)), []);
  assertEquals([loaded.state.attempt, loaded.state.lastLandedBlock], [null, 1_091]);
  assert(saidOf(loaded.state).includes("last weights in force: set at block 1091, row checked"));
  // The answer to the old process's call, were it to come, changes nothing.
  const late = { type: "answered", attempt: 1, receipt: { status: "unknown", why: "late" } } as const;
  assertEquals(weightDuty.step(loaded.state, late, 0), []);
});

Deno.test("Duty: a block that the chain took back is sent again", () => {
  const world = situation();
  lookAt(1_070, world);
  const receipt = { status: "included", block: 1_071, extrinsicHash: "0x" } as const;
  weightDuty.step(world.state, { type: "answered", attempt: 1, receipt }, 0); // and then that block is reverted
  assertEquals(sendsOf(lookAt(1_072, world)), []);
  assertEquals(sendsOf(lookAt(1_078, world)).length, 1);
});

Deno.test("Duty: a silent chain and a failing read are alarms, and pass by themselves", () => {
  const world = situation();
  const { chain, state } = world;
  lookAt(1_010, world);
  const deadlineMs = weightDuty.nextDeadlineMs(state)!;
  assertEquals(deadlineMs, chain.timeMs + 90_000);
  weightDuty.step(state, { type: "tick" }, deadlineMs);
  assert(saidOf(state).startsWith("no new block since block 1010"));
  assertEquals(weightDuty.nextDeadlineMs(state), null);
  weightDuty.step(state, { type: "headSeen", head: { block: 1_020, seenMs: 0 } }, deadlineMs + 1);
  weightDuty.step(state, { type: "readFailed", why: "metadata is being exchanged" }, deadlineMs + 2);
  assert(saidOf(state).startsWith("the chain could not be read: metadata is being exchanged"));
  lookAt(1_021, world);
  assertEquals(dutyHealth(state).level, "good");
});

Deno.test("Duty: an endpoint that lags is not believed", () => {
  const world = situation();
  lookAt(1_090, world);
  weightDuty.step(world.state, { type: "answered", attempt: 1, receipt: { status: "unknown", why: "switch" } }, 0);
  const old: ChainView = { ...world.chain.view(validator), metagraph: { ...world.chain.metagraph(), block: 1_050 } };
  weightDuty.step(world.state, { type: "headSeen", head: { block: 1_091, seenMs: 0 } }, 0);
  assertEquals(weightDuty.step(world.state, { type: "viewRead", view: old }, 0), []);
  assert(saidOf(world.state).includes("the endpoint lags"));
});

Deno.test("View: one read gets everything; without a uid there is no row to request", async () => {
  const { chain } = situation();
  chain.rows.set(0, [{ uid: 2, value: 65_535 }]);
  const asked: number[] = [];
  const source = (hotkey: string) => ({
    finalizedBlock: () => Promise.resolve(chain.block),
    metagraph: () => Promise.resolve(chain.metagraph()),
    parameters: () => Promise.resolve({ ...chain.parameters, block: chain.block }),
    epochState: () => Promise.resolve(chain.epoch()),
    weightsOf({ uid }: { uid: number }) {
      asked.push(uid);
      return Promise.resolve(chain.view(hotkey).row);
    },
    pendingCommits: () => Promise.resolve(chain.view(hotkey).commits),
    weightCallsOf: () => Promise.resolve(null),
  });
  assertEquals(await readView(source(validator), { hotkey: validator, mechanism: 0 }), chain.view(validator));
  assertEquals((await readView(source("nobody"), { hotkey: "nobody", mechanism: 0 })).row, []);
  assertEquals(asked, [0]);
});
