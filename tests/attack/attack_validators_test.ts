/** Attack suite: validators that are silent or lie. Audits go on with the others, and one liar decides nothing. */

import { assert, assertEquals } from "@std/assert";
import { assertNobodyHonestNamed, type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { type Aftermath, rounds, runAttack } from "../support/attack/attacked_run.ts";
import {
  evaluatesLate,
  evaluatesTo,
  findsNothingFinite,
  givesUp,
  rising,
  silent,
} from "../support/attack/hostile_words.ts";
import { failsEverybody, passesEverybody } from "../lab/redteam/hostile_validators.ts";
import { reportsLoss } from "../lab/redteam/hostile_wires.ts";
import type { World } from "../lab/world/world.ts";
import { slowTest } from "../support/whole.ts";

/**
 * The first parameters and the last ones were evaluated by an honest validator, and every honest miner was audited. Rounds between
 * are evaluated at a pace (core/orchestrator/audit/held_out/evaluation_pace.ts).
 */
function assertAudited({ records, hostile, miners }: Aftermath): void {
  const evaluated = new Set<number>();
  const audited = new Set<string>();
  for (const record of records) {
    if (record.type === "evaluated" && !hostile.has(record.validator)) evaluated.add(record.round);
    if (record.type === "verdict" && !hostile.has(record.validator)) audited.add(record.miner);
  }
  assertEquals([0, rounds].filter((round) => !evaluated.has(round)), [], "evaluated by somebody honest");
  assertEquals(miners.filter((miner) => !audited.has(miner)), [], "everybody was audited by somebody honest");
}

/** Both were heard. */
function assertBothSaid({ records, validators }: Aftermath): void {
  const ofLast = records.flatMap((record) =>
    record.type === "evaluated" && record.round === rounds ? [record.validator as string] : []
  );
  assertEquals(validators.filter((validator) => !ofLast.includes(validator)), [], "each says its own number");
}

/** The run was not sent back, the honest validator is not accused, and the numbers that nobody can settle are called disputed. */
function assertNotTurned(after: Aftermath): void {
  assertNobodyHonestNamed(after, { inWarnings: false });
  assertEquals(after.records.filter(({ type }) => type === "mergeRetaken"), []);
  assertEquals(after.state.facts.heldOutDisputed?.round, rounds);
}

const deadlineMs = 5_000; // shorter than a round: what one validator keeps waiting must be done by another in this run

const silentRows = (): readonly Row[] => [
  {
    name: "one of two is silent",
    culprit: "named",
    validators: [silent, "honest"],
    also: assertAudited,
  },
  {
    name: "three of four are silent",
    culprit: "named",
    validators: [silent, silent, silent, "honest"],
    also: assertAudited,
  },
  { name: "all are silent", culprit: "named", validators: [silent, silent], told: "nothingFalse" },
  {
    name: "one falls silent in the middle",
    fromRound: 2,
    culprit: "named",
    validators: ["honest", silent],
    also: assertAudited,
  },
  {
    name: "one of two says that it can do nothing",
    culprit: "named",
    validators: [givesUp, "honest"],
    also: assertAudited,
  },
];

const lyingRows = (): readonly Row[] => [
  {
    name: "one of two says of every round that its loss is 0.001",
    isQuick: true,
    culprit: "named", // one word against another, both are said
    validators: [evaluatesTo(0.001), "honest"],
    told: "nothingFalse",
    also: assertBothSaid,
  },
  {
    name: "the second of two says of every round that its loss is 0.001",
    culprit: "named",
    validators: ["honest", evaluatesTo(0.001)],
    told: "nothingFalse",
    also: assertBothSaid,
  },
  {
    name: "one of three says that the loss is 20",
    culprit: "named",
    validators: ["honest", evaluatesTo(20), "honest"],
  },
  {
    name: "two of three say that the loss rises tenfold each time",
    culprit: "tolerated", // two against one, and training sides with the one: all is said, none is believed
    validators: [rising(), rising(), "honest"],
    told: "nothingFalse",
    also: assertNotTurned,
  },
  {
    name: "two of three say that nothing finite comes out",
    culprit: "tolerated",
    validators: [findsNothingFinite, "honest", findsNothingFinite],
    told: "nothingFalse",
    also: assertNotTurned,
  },
  {
    name: "two of three say of every round that its loss is 0.001",
    culprit: "tolerated",
    validators: ["honest", evaluatesTo(0.001), evaluatesTo(0.001)],
    told: "nothingFalse",
    also: assertNotTurned,
  },
  {
    name: "one of two fails everybody",
    culprit: "tolerated", // its word counts for its own weights only
    validators: [failsEverybody, "honest"],
    also: assertAudited,
  },
  {
    name: "one of three fails everybody",
    culprit: "tolerated",
    validators: ["honest", "honest", failsEverybody],
    also: assertAudited,
  },
  {
    name: "one of two passes a miner that reports losses of zero",
    culprit: "named", // the miner also signs another loss than it reports, which is found without any validator
    miners: [{ stage: 2, hostile: reportsLoss(0) }],
    validators: [passesEverybody, "honest"],
    also: ({ hostile, members }) => {
      const [liar] = hostile;
      assert(!members.has(liar!), "found out");
    },
  },
];

testAttacks("validators", () => [...silentRows(), ...lyingRows()].map((row) => ({ deadlineMs, ...row })));

/** One answer may take as long as half of the time for closing, so that another validator has the rest. */
slowTest(
  "Attack, validators: a false loss of the last round that comes as late as it may is not the summary's number",
  async () => {
    let swarm: World | null = null;
    const liar = evaluatesLate({
      loss: 0.001,
      timers: () => swarm?.clock.timers ?? null,
      pauseMs: () => swarm?.orchestrator.state.phase === "closing" ? 4650 : 500, // four of them: 18.6 s of 20; the slowest answer sets the patience
    });
    const { state, records, validators } = await runAttack({
      validators: [liar, "honest"],
      gradients: 0,
      trials: 0, // as the liar must be free when the last round must be evaluated
      meddle: (world, _miners, [, honest]) => {
        swarm = world;
        const { link } = world.member(honest!);
        const { phase, step, config } = world.orchestrator.state;
        const isLast = phase !== "closing" && step >= config.train.steps - 1; // the next draw must fall on the liar
        if (isLast && !link.unreachable) link.cut();
        link.unreachable = isLast;
      },
    });
    const ofLast = records.flatMap((each) =>
      each.type === "evaluated" && each.round === rounds ? [each.validator] : []
    );
    assertEquals(ofLast, validators, "the liar answers first");
    assertEquals(state.facts.heldOutLast, null, "no round's loss was agreed");
    assertEquals(state.facts.heldOutDisputed?.round, rounds, "its word is said and called disputed");
  },
);
