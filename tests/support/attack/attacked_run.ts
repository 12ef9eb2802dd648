/**
 * Runs under attack: three stages of three replicas and two validators, real roles with real arithmetic, some of them
 * hostile.
 *
 * Owns the calm run that an attacked one is compared with, and what is kept of a run. Computing takes its time here, so
 * that paces and deadlines mean something. Out of scope: the swarm itself (tests/lab/world), what must hold afterwards
 * (attack_checks.ts). Deterministic for a seed.
 */

import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { GradientBits } from "../../../core/codec/codec_names.ts";
import type { PayloadCodecName, Reducers } from "../../../core/config/payload_codec_names.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { type Hostile, hostileMiner, hostileValidator } from "../../lab/redteam/hostile_node.ts";
import { passTimes, processor } from "../../lab/world/devices.ts";
import { finalParameters, heldOutLoss } from "../../lab/world/held_out_loss.ts";
import { World } from "../../lab/world/world.ts";
import { memoryOwnState } from "../swarm/memory_own_state.ts";
import { configOf } from "../swarm/whole_run.ts";

export const stages = 3;
export const rounds = 4;
export const steps = 12;

/**
 * So much text a step that who computes what hardly moves the final loss: calm runs whose miners differ in pace have a
 * standard deviation of 0.5 % (with 2 sequences and a rate of 1e-2 it was 1 to 2.6 %, beside which a bound of 3 % says
 * little).
 */
const work = { microbatchesPerStep: 9, sequencesPerMicrobatch: 16, learningRate: 3e-3 };

/** A hostile miner's place; the first replica of a stage is asked first wherever there is an order. */
export interface Attacker {
  readonly stage: number;
  readonly replica?: number; // default: 0
  readonly hostile: Hostile;
}

export interface Attack {
  readonly miners?: readonly Attacker[];
  readonly validators?: readonly (Hostile | "honest")[]; // default: two honest ones
  readonly fromRound?: number; // until then they behave, apart from their devices; default: 0
  readonly replicas?: number; // of every stage, default: 3
  readonly deadlineMs?: number; // of leases and merge phases, default: 20 s, far longer than a round, so that a missed one shows
  readonly seed?: number;
  readonly width?: number; // of the model, default 32
  readonly layers?: number;
  readonly steps?: number;
  readonly gradients?: number; // steps a round whose gradient norm is recomputed, default: 0.25
  readonly trials?: number; // stages a round whose payloads are tried, default: 1
  readonly gradientBits?: GradientBits; // on wires of 5-bit codes; default: wires of codec iota
  readonly sideWidth?: number; // values that stages keep of each token, whose ids then cross; default: 0
  readonly payload?: PayloadCodecName; // default: float32
  readonly reducers?: Reducers; // of payloads, default: the orchestrator, as stages are small
  readonly slownessOf?: (place: number) => number; // of the miner at this place, default: 1, its passes take their usual time
  readonly meddle?: (swarm: World, miners: readonly string[], validators: readonly string[]) => void; // before every event
}

/** What is kept of a run. */
export interface Aftermath {
  readonly attack: Attack;
  readonly swarm: World;
  readonly state: OrchestratorState;
  readonly records: readonly RunRecord[];
  readonly miners: readonly string[]; // addresses: replica by replica, each over the stages
  readonly validators: readonly string[];
  readonly hostile: ReadonlySet<string>;
  readonly members: ReadonlySet<string>; // when the run ended
  readonly refused: readonly { node: string; code: string; detail: string }[]; // what miners were told
  readonly merged: readonly number[]; // ms from the run's start to each merge
  readonly endedMs: number;
  readonly trueLoss: number; // of the final parameters on held-out text, by a validator of our own
  readonly parameters: readonly Float32Array[]; // final ones, of each stage
}

function configFor(
  {
    seed = 1,
    replicas = 3,
    validators = [],
    deadlineMs = 20_000,
    width = 32,
    layers,
    steps: given = steps,
    trials = 1,
    gradients = 0.25,
    reducers = "auto",
    payload = "float32",
    gradientBits,
    sideWidth = 0,
  }: Attack,
): RunConfig {
  return configOf({
    seed,
    model: { width, ...(layers === undefined ? {} : { layers }) },
    pipeline: {
      ...(sideWidth === 0 ? {} : { sideWidth }),
      ...(gradientBits === undefined ? { codec: "iota" } : { codec: "q5block", gradientBits }),
    },
    train: { steps: given, stepsPerRound: given / rounds, ...work },
    outer: { learningRate: 0.7, momentum: 0.9, reducers, payload },
    swarm: { replicas, validators: Math.max(2, validators.length) },
    validate: { heldOutSequences: 64, trialsPerRound: trials, trialShare: 1000, gradientsPerRound: gradients },
    limits: { leaseMs: deadlineMs, mergePhaseMs: deadlineMs },
  });
}

const forwardMs = 100; // as on a small device
const mostMs = 600_000; // a calm run takes 22 s
const mostRecords = 20_000; // a calm run has 700; a task handed out and refused in a circle has no end

const memberIndex = ({ stage, replica = 0 }: Attacker): number => replica * stages + stage;

export async function runAttack(attack: Attack): Promise<Aftermath> {
  const { miners: attackers = [], validators: seats = ["honest", "honest"], meddle = () => {} } = attack;
  const merged: number[] = [];
  const refused: { node: string; code: string; detail: string }[] = [];
  const kept = { members: new Set<string>(), startedMs: 0, endedMs: 0 };
  const config = configFor(attack);
  const places = stages * config.swarm.replicas;
  const swarm: World = new World({
    config,
    device: processor,
    passMs: passTimes(forwardMs),
    watch: (record, { clock, records, orchestrator: { state } }) => {
      if (records.all.length > mostRecords) throw new Error(`The run goes round in circles: ${JSON.stringify(record)}`);
      if (record.type === "runStarted") kept.startedMs = clock.nowMs;
      if (record.type === "roundMerged") merged.push(clock.nowMs - kept.startedMs);
      if (record.type !== "runFinished") return;
      kept.endedMs = clock.nowMs - kept.startedMs;
      kept.members = new Set(state.members.keys());
    },
  });
  const { blobs: store } = swarm;
  const isOn = () => swarm.orchestrator.state.round >= (attack.fromRound ?? 0);
  for (let i = 0; i < places; i++) {
    const hostile = attackers.find((attacker) => memberIndex(attacker) === i)?.hostile;
    const host = swarm.device(attack.slownessOf?.(i));
    const own = hostile === undefined ? { device: host } : hostileMiner({ hostile, host, store, isOn });
    const { address } = await swarm.addMiner({
      ...own,
      ownState: memoryOwnState(),
      onRecord(record) {
        if (record.type === "refused") refused.push({ node: address, code: record.code, detail: record.detail });
      },
    });
  }
  for (const seat of seats) {
    const host = swarm.device();
    swarm.addValidator(seat === "honest" ? { device: host } : hostileValidator({ hostile: seat, host, store, isOn }));
  }
  const addresses = swarm.members.map(({ address }) => address);
  const [miners, validators] = [addresses.slice(0, places), addresses.slice(places)];
  await passTime(swarm, () => meddle(swarm, miners, validators));
  const culprits = [
    ...attackers.map((attacker) => miners[memberIndex(attacker)]),
    ...validators.filter((_, i) => seats[i] !== "honest"),
  ].map((address) => present(address, "an attacker has a place"));
  return {
    ...{ attack, swarm, state: swarm.orchestrator.state, records: swarm.records.all, miners, validators },
    ...{ hostile: new Set(culprits), refused, merged, ...kept },
    trueLoss: await heldOutLoss(swarm, processor),
    parameters: await finalParameters(swarm),
  };
}

/** To the end of the run, with meddling before each event. */
async function passTime(swarm: World, meddle: () => void): Promise<void> {
  const { finished } = swarm.orchestrator;
  let isOver = false;
  const over = () => isOver = true;
  finished.then(over, over);
  await swarm.runUntil(() => {
    if (!isOver) meddle();
    return isOver;
  }, mostMs);
  await finished; // throws what the orchestrator itself failed of
}

const calmRuns = new Map<string, Promise<Aftermath>>();

/** The same run without hostile nodes; computed once. */
export function calm(
  { seed = 1, replicas = 3, width = 32, layers, steps: given, payload, gradientBits, sideWidth = 0 }: Attack = {},
): Promise<Aftermath> {
  const key = `${seed} ${replicas} ${width} ${layers} ${given} ${payload} ${gradientBits} ${sideWidth}`;
  const known = calmRuns.get(key) ?? runAttack({
    ...{ seed, replicas },
    width,
    ...(layers === undefined ? {} : { layers }),
    ...(given === undefined ? {} : { steps: given }),
    sideWidth,
    ...(payload === undefined ? {} : { payload }),
    ...(gradientBits === undefined ? {} : { gradientBits }),
  });
  calmRuns.set(key, known);
  return known;
}
