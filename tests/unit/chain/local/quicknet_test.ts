/**
 * Weights that Bittensor's SDK sealed to drand's quicknet, on the embedded chain: noticed, told, and opened with quicknet's own pulse.
 * The chain lives around quicknet's round 1000, whose genuine pulse is among the vectors.
 */

import { assertEquals, assertMatch } from "@std/assert";
import type { ChainCall } from "../../../../chain/call.ts";
import { localGenesis } from "../../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { type Beacon, quicknet, timeOfRoundMs } from "../../../../chain/timelock/beacon.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../../../chain/timelock/weights_payload.ts";
import { DrandRelay } from "../../../../cli/chain/drand_relay.ts";
import { netuid, tokens } from "../../../conformance/chain_world.ts";
import {
  epoch,
  miner,
  minerUid,
  owner,
  register,
  send,
  stake,
  submit,
  voter,
  voterUid,
} from "../../../support/chain/small_subnet.ts";
import vectors from "../../../vectors/chain/timelock.json" with { type: "json" };
import { keyOf } from "../../../../chain/local/state/records.ts";

const round = 1_000n;
const dueMs = timeOfRoundMs(quicknet, round);
const url = "https://drand.example";
const pulseUrl = `${url}/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971/public`;
const pulse = JSON.stringify({ round: 1000, randomness: "00", signature: vectors.pulse });

interface World {
  readonly ledger: LocalLedger;
  readonly warnings: string[];
  readonly asked: string[];
  /** Makes blocks a second apart, each with the fetches it leads to. */
  blocks(count: number): Promise<void>;
  commit(beacon?: Beacon): void;
  row(): readonly unknown[];
}

async function withWorld(
  { server, answers }: { server: string | null; answers: (url: string) => string | Error },
  body: (world: World) => Promise<void>,
): Promise<void> {
  const genesis = localGenesis({
    ...{ ownerColdkey: owner.address, ownerHotkey: owner.address, startMs: dueMs - 50_000 },
    hyperparameters: { isCommitReveal: true, tempoBlocks: 10 },
  });
  const ledger = LocalLedger.open({ path: ":memory:", genesis, hearsQuicknet: server !== null });
  for (const hotkey of [voter, miner]) assertEquals(send(ledger, register(hotkey)), null);
  assertEquals(send(ledger, stake(voter, tokens(1_000))), null);
  epoch(ledger);
  const warnings: string[] = [], asked: string[] = [];
  const fetchText = (url: string) => {
    asked.push(url);
    const answer = answers(url);
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const relay = new DrandRelay({ ledger, server, fetchText, warn: (text) => warnings.push(text), note: () => {} });
  const blocks = async (count: number) => {
    for (let i = 0; i < count; i++) {
      ledger.produceBlock(ledger.head().timestampMs + 1_000);
      await relay.settled;
    }
  };
  const commit = (beacon = quicknet) => {
    const { publicKey } = voter;
    const plaintext = encodeWeightsPayload({ hotkey: publicKey, uids: [minerUid], values: [7], versionKey: 0n });
    const random = new Uint8Array(timelockRandomBytes).fill(9);
    const call: ChainCall = {
      ...{ type: "commitTimelockedWeights", netuid, mechanism: 0, revealRound: round, commitRevealVersion: 4 },
      commit: encryptTimelocked({ plaintext, round, beacon, random }),
    };
    assertEquals(submit(ledger, call, publicKey).status, "accepted");
  };
  const row = () => ledger.state.read("weights", keyOf(netuid, voterUid)) ?? [];
  await body({ ledger, warnings, asked, blocks, commit, row });
  relay.close();
  ledger.close();
}

const secondsToRound = ({ ledger }: World) => Math.ceil((dueMs - ledger.head().timestampMs) / 1_000);

Deno.test("Quicknet: weights sealed to it are reported at once, and open with a drand server's pulse", () =>
  withWorld({ server: url, answers: (asked) => asked.endsWith("/latest") ? "{}" : pulse }, async (world) => {
    await world.blocks(secondsToRound(world) - 8);
    world.commit();
    await world.blocks(1);
    assertEquals(world.warnings.length, 1);
    assertMatch(
      world.warnings[0]!,
      /^block \d+: the weights that 5\w+ committed are not sealed to this chain's beacon/,
    );
    assertMatch(world.warnings[0]!, /quicknet.*round 1000 can be fetched from https:\/\/drand\.example/);
    assertEquals(world.asked, [`${pulseUrl}/latest`]);
    await world.blocks(25);
    assertEquals(world.row(), [[minerUid, 65_535]]);
    assertEquals([world.asked, world.warnings.length], [[`${pulseUrl}/latest`, `${pulseUrl}/1000`], 1]);
  }));

Deno.test("Quicknet: if its pulses are unavailable or wrong, the owner is warned, and the weights are lost in their epoch", async () => {
  const forged = pulse.replace(vectors.pulse, "ab".repeat(48));
  for (const answer of [new Error("no route to host"), "garbage", forged]) {
    await withWorld({ server: url, answers: () => answer }, async (world) => {
      await world.blocks(secondsToRound(world) - 8);
      world.commit();
      await world.blocks(30);
      assertEquals(world.row(), []);
      const [sealed, missing, ...more] = world.warnings;
      assertMatch(sealed!, /not sealed to this chain's beacon/);
      assertMatch(
        missing!,
        /weights sealed to it will be lost unless the server answers: (no route to host|its answer is not quicknet's)/,
      );
      assertEquals(more, []);
    });
  }
});

Deno.test("Quicknet: without a server the loss is reported at commit time; weights sealed to the chain's own beacon are safe", () =>
  withWorld({ server: null, answers: () => new Error("nobody is asked") }, async (world) => {
    await world.blocks(secondsToRound(world) - 8);
    world.commit(world.ledger.beacon.beacon);
    await world.blocks(1);
    assertEquals(world.warnings, []);
    await world.blocks(6);
    world.commit();
    await world.blocks(1);
    assertMatch(world.warnings.join(), /will be lost, as --drand none/);
    await world.blocks(25);
    assertEquals([world.asked, world.warnings.length, world.row()], [[], 1, [[minerUid, 65_535]]]); // the first commit's
  }));
