/** Attack suite: wires that look ordinary and make the results of whoever computes with them unusable. */

import { assert, assertEquals } from "@std/assert";
import { partsOf } from "../../core/ids.ts";
import { type Row, testAttacks, unitsByRound } from "../support/attack/attack_checks.ts";
import { type Aftermath, rounds } from "../support/attack/attacked_run.ts";
import { keepsBack } from "../lab/redteam/hostile_merges.ts";
import { type Hostile, instead, together } from "../lab/redteam/hostile_node.ts";
import { firstRowZero, nanAtFirst, sendsNaNWhile, shrinks, tamed } from "../support/attack/hostile_values.ts";
import { oneOf, reportsLoss, spoilsForward, spoilsGradients, times } from "../lab/redteam/hostile_wires.ts";
import type { World } from "../lab/world/world.ts";

const zeroRow = spoilsForward(firstRowZero);

const rows = (): readonly Row[] =>
  [
    { name: "a row of zeros, four layers a stage", layers: 12, culprit: "out" },
    { name: "a row of zeros, three layers a stage", layers: 9, culprit: "tolerated" },
    { name: "a row of zeros, two layers a stage", layers: 6, culprit: "tolerated" },
    { name: "a row of zeros, eight layers a stage: honest results overflow", layers: 24, culprit: "out" },
  ].map((row) => ({ ...row, lossTolerance: 0.06, miners: [{ stage: 0, hostile: zeroRow }] }) as Row);

testAttacks("unusable inputs", rows);

/** With an accomplice who finds nothing wrong with the input. */
const pairs = (): readonly Row[] =>
  [
    {
      name: "and small gradients where honest ones are large",
      miners: [{ stage: 0, hostile: zeroRow }, { stage: 1, hostile: spoilsGradients(tamed(0.003)) }],
    },
    {
      name: "and NaN for everything",
      miners: [{ stage: 0, hostile: zeroRow }, { stage: 1, hostile: spoilsGradients(oneOf(NaN)) }],
    },
    {
      name: "of two heads",
      miners: [{ stage: 0, hostile: zeroRow }, { stage: 0, replica: 1, hostile: zeroRow }],
    },
  ].map((row) => ({ ...row, layers: 12, lossTolerance: 0.12, culprit: "tolerated" }) as Row);

testAttacks("a row of zeros", pairs);

const overflowing = { layers: 18, lossTolerance: 0.12, culprit: "tolerated" } as const;

interface Withheld {
  readonly layers: number; // of the model: with 18 no replica has a usable result, with fewer they are only large
  readonly stage: number; // of the last replica, which withholds
  readonly replicas?: number;
}

/**
 * The head's wires make the results of a stage unusable or large, and the stage's last replica is never late: it withholds these
 * results, and has no link whenever a deadline passes.
 */
function withheldWithoutLink({ layers, stage, replicas = 3 }: Withheld): Row {
  let swarm: World | null = null;
  let [head, node] = ["", ""];
  let awayUntilMs = -1;
  const replica = replicas - 1;
  const item = stage === 2 ? 2 : 4 - stage; // of a flow: its gradient
  const spoiled = () =>
    swarm?.orchestrator.state.work?.flows.filter(({ items }) => items[0]?.madeBy?.node === head) ?? [];
  const hostile: Hostile = {
    say: ({ message }) =>
      message.type === "taskDone" && partsOf(message.task).direction !== "forward" &&
        spoiled().some(({ microbatch }) => message.task.startsWith(`${microbatch}.`))
        ? []
        : [message],
  };
  return {
    ...overflowing,
    layers,
    replicas,
    name: `and one of ${replicas} in stage ${stage} that withholds their gradients and has no link at deadlines, ` +
      `${layers / 3} layers a stage`,
    slowRounds: 4, // the step goes on, no more
    miners: [{ stage: 0, hostile: zeroRow }, { stage, replica, hostile }],
    meddle: (world, miners) => {
      [swarm, head, node] = [world, miners[0]!, miners[replica * 3 + stage]!];
      const { link } = world.member(node);
      const { nowMs } = world.clock;
      if (awayUntilMs > 0 && nowMs < awayUntilMs) return;
      link.unreachable = false;
      awayUntilMs = -1;
      const leases = spoiled().flatMap(({ items }) => items[item]?.leases ?? []).filter((held) => held.node === node);
      if (!leases.some(({ deadlineMs }) => deadlineMs < nowMs + 1000)) return;
      awayUntilMs = nowMs + 2000;
      link.unreachable = true;
      link.cut();
    },
  };
}

/** An accomplice who could tell whether the input is bad, and does not. */
testAttacks("unusable inputs", () => [
  {
    ...overflowing,
    name: "and a tail that never loads",
    slowRounds: 0,
    miners: [{ stage: 0, hostile: zeroRow }, { stage: 2, replica: 2, hostile: keepsBack("ready") }],
  },
  ...[
    { layers: 18, stage: 2 },
    { layers: 15, stage: 2 },
    { layers: 12, stage: 2 },
    { layers: 9, stage: 2 },
    { layers: 12, stage: 1 },
    { layers: 12, stage: 2, replicas: 2 },
    { layers: 18, stage: 2, replicas: 2 },
  ].map(withheldWithoutLink),
]);

const two = (hostile: () => Hostile) => [0, 1].map((replica) => ({ stage: 1, replica, hostile: hostile() }));

/** The link of whoever could contradict is broken for a while, within its grace. */
function whileAway(name: string, { liars, away }: { liars: readonly number[]; away: readonly number[] }): Row {
  let from = -1;
  let isAway = false;
  return {
    name,
    miners: liars.map((replica) => ({ stage: 1, replica, hostile: sendsNaNWhile(() => isAway) })),
    meddle: (swarm, miners) => {
      const { state } = swarm.orchestrator;
      const now = swarm.clock.nowMs;
      const places = away.map((replica) => swarm.member(miners[replica * 3 + 1]!));
      if (from < 0 && state.round === 1 && state.phase === "training" && state.work !== null) {
        from = now;
        isAway = true;
        for (const { link } of places) {
          link.unreachable = true;
          link.cut();
        }
      }
      if (isAway && now >= from + 2000) { for (const { link } of places) link.unreachable = false; }
      const isBack = places.every(({ link, address }) => {
        const member = [...state.members.values()].find(({ node }) => node === address);
        return !link.unreachable && member?.graceUntilMs === null && member.status === "active";
      });
      if (isBack) isAway = false;
    },
  };
}

/** They agree with each other, and the honest one is away for a while again and again: it may still contradict. */
function hugeWhileAway(stage: number): Row {
  let fromMs = -1;
  const liar = () => together(spoilsForward(times(1e8)), spoilsGradients(times(1e8)));
  return {
    name: `of two of three, stage ${stage}, while the third has no link for 2 s in every 6 s`,
    lossTolerance: 0.05,
    culprit: "tolerated",
    slowRounds: 4,
    miners: [0, 1].map((replica) => ({ stage, replica, hostile: liar() })),
    meddle: (swarm, miners) => {
      const { orchestrator: { state }, clock } = swarm;
      const { link } = swarm.member(miners[2 * 3 + stage]!);
      const isOn = state.round >= 1 && state.phase === "training";
      if (isOn && fromMs < 0) fromMs = clock.nowMs;
      const isAway = isOn && (clock.nowMs - fromMs) % 6000 < 2000;
      if (isAway && !link.unreachable) link.cut();
      link.unreachable = isAway;
    },
    also: ({ state }) => {
      const { forward, backward } = state.scales.stages[stage]!.wires;
      const largest = Math.max(...[...forward, ...backward].map(({ scale }) => scale.largest));
      assert(largest < 1e4, `a wire with ${largest} was accepted`);
    },
  };
}

testAttacks("huge wires", () => [0, 1].map(hugeWhileAway));

testAttacks("NaN", () => [
  whileAway("of two of three, while the third's link is broken", { liars: [0, 1], away: [2] }),
  whileAway("of one of three, while both others' links are broken", { liars: [0], away: [1, 2] }),
  { name: "of two of three in all gradients", culprit: "out", miners: two(() => spoilsGradients(oneOf(NaN))) },
  { name: "of two of three in all wires", culprit: "out", miners: two(() => sendsNaNWhile(() => true)) },
]);

/** They are a majority of their stage; what an audit says of them is worth more. */
function assertOthersArePaid(after: Aftermath): void {
  for (const node of after.miners.filter((each) => !after.hostile.has(each))) {
    const units = unitsByRound(after, node);
    assert(units.slice(2).every((each) => each > 0), `the honest ${node} was paid ${units}`);
  }
}

testAttacks("a window that moves", () => [
  {
    name: "two of three shrink their wires step by step",
    culprit: "named",
    lossTolerance: 0.2,
    slowRounds: 3, // the one that is left does it all, after both others have tried
    miners: two(shrinks),
    also: assertOthersArePaid,
  },
]);

/** The validator's word takes everybody but its accomplice out of the reference. */
function accomplice(name: string, hostile: () => Hostile): Row {
  let swarm: World | null = null;
  let friend = "";
  const failsOthers = instead("replayed", ({ message }) => {
    const asked = swarm?.orchestrator.state.audit.running.get(message.request)?.request;
    const isFriend = asked?.type === "replay" && asked.replay.miner === friend;
    return isFriend
      ? { ...message, innovationError: 0, equalShare: 1, lossError: message.lossError === null ? null : 0 }
      : { ...message, innovationError: 1e6, equalShare: 0 };
  });
  return {
    name,
    culprit: "tolerated",
    lossTolerance: 0.2,
    slowRounds: 3,
    miners: [{ stage: 1, hostile: hostile() }],
    validators: [failsOthers, "honest"],
    meddle: (world, addresses) => {
      swarm = world;
      friend = addresses[1]!;
    },
    also: assertOthersArePaid,
  };
}

testAttacks("a validator that fails all", () => [
  accomplice("but a miner that shrinks its wires step by step", shrinks),
  ...[100, 0.01].map((factor) =>
    accomplice(
      `but a miner that sends ${factor} times its wires`,
      () => together(spoilsForward(times(factor)), spoilsGradients(times(factor))),
    )
  ),
]);

testAttacks("told losses", () => [
  { name: "of 999 by a tail", culprit: "unpaid", miners: [{ stage: 2, hostile: reportsLoss(999) }] },
]);

/** A miner that contradicts others has the microbatch recomputed; nobody loses pay or is suspected for that. */
function nanOnce(): Row {
  let swarm: World | null = null;
  const isLater = () => {
    const state = swarm?.orchestrator.state;
    return state !== undefined && state.step !== state.roundFirstStep;
  };
  return {
    name: "as the first answer to each microbatch, after a round's first step",
    culprit: "tolerated",
    miners: [{ stage: 2, hostile: nanAtFirst(isLater) }],
    meddle: (world) => swarm = world,
    also: ({ miners, hostile, records }) => {
      const warnings = records.flatMap((record) => record.type === "warning" ? [record.text] : []);
      const accused = miners.filter((node) => !hostile.has(node) && warnings.some((text) => text.includes(node)));
      assertEquals(accused, [], "no warning names an honest node");
      const remade = records.filter((record) => record.type === "taskReleased" && record.reason.includes("recomputed"));
      assert(remade.length > 0 && remade.length < 3 * rounds, `${remade.length} makings for claims in vain`);
    },
  };
}

testAttacks("NaN", () => [nanOnce()]);
