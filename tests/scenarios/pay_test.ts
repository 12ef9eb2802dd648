/**
 * Pay follows work: in a calm swarm each miner's share of the chain's emission is its share of the work that was needed.
 *
 * Work is counted here from the records of finished tasks and the products that a stage's tensors take part in, and not by the
 * code under test.
 */

import { assert, assertEquals, assertLess } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { embeddingName, parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { type MinerScore, roundsUntilDue } from "../../core/score/work_score.ts";
import type { LocalLedger } from "../../chain/local/local_ledger.ts";
import { conformWeights } from "../../chain/weights/conform.ts";
import { keyOf, netuid, tokens } from "../conformance/chain_world.ts";
import { epoch, openLedger, register, send, stake, vote, voter } from "../support/chain/small_subnet.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { slowTest } from "../support/whole.ts";

const most = 0.05; // of a miner's share of work

/** Multiply-adds per token of a forward: every matrix but the embedding once, and two products with the keys seen so far. */
function forwardProducts(stage: StageSpec): number {
  const { contextLength, width } = stage.model;
  const matrices = parameterTable(stage).tensors.filter(({ name, shape }) =>
    shape.length === 2 && name !== embeddingName
  );
  const attention = stage.layerCount * 2 * width * (contextLength + 1) / 2;
  return matrices.reduce((sum, { shape: [rows, columns] }) => sum + rows! * columns!, attention);
}

/** Products of the tasks that every miner finished in rounds 0 to `round`: a product has two gradients. */
function workUntil(swarm: World, round: number): Map<NodeId, number> {
  const { stages, records } = swarm;
  const work = new Map<NodeId, number>();
  let open = 0;
  for (const record of records.all) {
    if (record.type === "roundMerged") open += 1;
    if (record.type !== "taskFinished" || open > round) continue;
    const times = { forward: 1, backward: 2, turnaround: 3 }[record.direction];
    work.set(record.node, (work.get(record.node) ?? 0) + times * forwardProducts(stages[record.stage]!));
  }
  return work;
}

/** What the chain pays in the epoch after a validator has voted by these scores. */
function emissions(ledger: LocalLedger, scores: readonly MinerScore[]): Map<NodeId, number> {
  const uidOf = (place: number) => place + 2; // after the owner and the voter
  const row = conformWeights(scores.map(({ score }, place) => ({ uid: uidOf(place), score })), {
    ...{ ownUid: 1, minAllowedWeights: 1, maxWeightsLimit: 65_535 },
  });
  assert(row.ok);
  assertEquals(send(ledger, vote(row.row.uids, row.row.values), voter.publicKey), null);
  epoch(ledger);
  const paid = ledger.storage("SubtensorModule.Emission", [netuid]) as bigint[];
  return new Map(scores.map(({ miner }, place) => [miner as NodeId, Number(paid[uidOf(place)])]));
}

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);

slowTest(
  "Pay: in a calm swarm a miner's share of emission is within 5 % of its share of work, from the first paid epoch on",
  async () => {
    const config = configOf({
      model: { vocabSize: 256 }, // the tail's forward costs about twice another stage's
      train: { steps: 2 * (roundsUntilDue + 2), stepsPerRound: 2, microbatchesPerStep: 5 },
      swarm: { replicas: 2, validators: 1 },
    });
    const swarm = new World({ config });
    await swarm.startAll();
    await swarm.run();
    assertWhole(swarm, config.train.steps);
    const rounds = recordsOf(swarm, "roundMerged").length;
    assertEquals([rounds, swarm.scores.map(({ round }) => round)], [roundsUntilDue + 2, [0, 1, 2, 3, 4, 5, 6]]);
    const paying = swarm.scores.filter(({ scores }) => scores.some(({ score }) => score > 0));
    assertEquals(
      paying.map(({ round }) => round),
      [roundsUntilDue, rounds - 1, rounds],
      "the first that is due, the next, and the run's end",
    );
    const ledger = openLedger();
    for (const hotkey of [voter, ...Array.from({ length: 6 }, (_, i) => keyOf(100 + i))]) {
      assertEquals(send(ledger, register(hotkey)), null);
    }
    assertEquals(send(ledger, stake(voter, tokens(1_000))), null);
    epoch(ledger);
    for (const { round, scores } of paying) {
      const work = workUntil(swarm, round === rounds ? round : round - roundsUntilDue);
      const paid = emissions(ledger, scores);
      assertEquals([paid.size, work.size], [6, 6]);
      for (const [node, done] of work) {
        const [share, ofWork] = [paid.get(node)! / sumOf(paid.values()), done / sumOf(work.values())];
        assertLess(
          Math.abs(share / ofWork - 1),
          most,
          `round ${round}: ${share} of emission for ${ofWork} of the work`,
        );
      }
    }
    ledger.close();
  },
);
