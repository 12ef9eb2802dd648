/**
 * Attack suite: false results in a merge, by one replica or by a majority of a stage that agrees beforehand. The honest one is
 * never the outlier, and what a banned replica contributed is in no mean.
 */

import { assert, assertEquals } from "@std/assert";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";
import { refOf } from "../../net/blob_hash.ts";
import { reducedByReplicas, type Row, testAttacks, unitsByRound } from "../support/attack/attack_checks.ts";
import { type Aftermath, type Attacker, runAttack } from "../support/attack/attacked_run.ts";
import { commitsPayload, keepsBack, reducesFalsely, showsFalsely } from "../lab/redteam/hostile_merges.ts";
import { type Hostile, together } from "../lab/redteam/hostile_node.ts";
import { times } from "../lab/redteam/hostile_wires.ts";
import { slowTest } from "../support/whole.ts";

const falseSlices = reducesFalsely(times(-3));
const falseVote = showsFalsely("parameters", 0.05);
const falseMomentum = showsFalsely("momentum", 5);

/** These replicas of a stage do the same. */
const colluding = (replicas: readonly number[], hostile: Hostile): Attacker[] =>
  replicas.map((replica) => ({ stage: 1, replica, hostile }));

const lossTolerance = 0.05; // two of three

const rows = (): readonly Row[] => [
  { name: "one of three reduces falsely", miners: colluding([0], falseSlices) },
  { name: "one of three opens false parameters", miners: colluding([2], falseVote) },
  { name: "one of three opens a false momentum", miners: colluding([1], falseMomentum) },
  { name: "one of two reduces falsely", replicas: 2, miners: colluding([0], falseSlices) },
  { name: "one of two opens false parameters", replicas: 2, miners: colluding([1], falseVote) },
  { name: "one of two opens a false momentum", replicas: 2, miners: colluding([0], falseMomentum) },
  {
    name: "the first two of three agree on false slices",
    lossTolerance,
    miners: colluding([0, 1], falseSlices),
  },
  { name: "the last two of three agree on false slices", lossTolerance, miners: colluding([1, 2], falseSlices) },
  { name: "the outer two of three agree on false slices", lossTolerance, miners: colluding([0, 2], falseSlices) },
  {
    name: "two of three agree on false slices after two honest rounds",
    lossTolerance,
    fromRound: 2,
    miners: colluding([0, 1], falseSlices),
  },
  {
    name: "two of three agree on false parameters",
    lossTolerance,
    miners: colluding([0, 1], falseVote),
  },
  {
    name: "the last two of three agree on a false momentum",
    lossTolerance,
    miners: colluding([1, 2], falseMomentum),
  },
  {
    name: "two of three agree on false slices and on false parameters",
    lossTolerance,
    miners: colluding([0, 1], together(falseSlices, falseVote)),
  },
  {
    name: "a reducer that lies and a voter that lies, each for itself",
    lossTolerance,
    miners: [...colluding([0], falseSlices), ...colluding([1], falseVote)],
  },
];

/** Two of three show the same, and keep slices back until the third, whose link is broken for 6 s, is lost. */
function thirdIsLost(value: number): Row {
  let cutMs = -1;
  const liar = showsFalsely("parameters", value);
  return {
    name: `two of three agree on parameters of ${value} when the third was lost while slices were reduced`,
    lossTolerance: 0.05,
    culprit: "named",
    miners: [...colluding([0], together(liar, keepsBack("sliceReduced"))), ...colluding([1], liar)],
    mayLose: [2 * 3 + 1],
    meddle: (swarm, miners) => {
      const { link } = swarm.member(miners[2 * 3 + 1]!);
      const { nowMs } = swarm.clock;
      if (cutMs < 0 && swarm.orchestrator.state.merge?.stages[1]?.phase === "reducing") {
        cutMs = nowMs;
        link.unreachable = true;
        link.cut();
      }
      if (cutMs > 0 && nowMs > cutMs + 6000) link.unreachable = false;
    },
  };
}

testAttacks("collusion", () => reducedByReplicas([...rows(), thirdIsLost(NaN), thirdIsLost(0.05)]));

/** Where the orchestrator reduces alone, only what a replica shows of its own outer step can be false. */
testAttacks("collusion where the orchestrator reduces", () => [
  { name: "one of two opens false parameters", replicas: 2, miners: colluding([1], falseVote) },
  { name: "two of three agree on false parameters", miners: colluding([0, 1], falseVote) },
  { name: "all three agree on a false momentum", miners: colluding([0, 1, 2], falseMomentum), slowRounds: 2 },
]);

const finalHash = ({ parameters }: Aftermath): string => refOf(bytesOfFloats(parameters[1]!)).hash;

slowTest(
  "Attack, collusion: the contribution of a replica banned in a merge is neither in the mean nor paid",
  async () => {
    const fromRound = 3;
    const liar = together(commitsPayload(times(5)), falseSlices);
    const common = { fromRound, reducers: "replicas" } as const;
    const expelled = await runAttack({ ...common, miners: colluding([0], liar) });
    const absent = await runAttack({ ...common, miners: colluding([0], keepsBack("payloadCommitted")) });
    const [node] = expelled.hostile;
    assert(node !== undefined && !expelled.members.has(node), "it is banned");
    assertEquals(finalHash(expelled), finalHash(absent), "the others' mean alone");
    assertEquals(unitsByRound(expelled, node)[fromRound], 0, "the round it lied in is not paid");
  },
);
