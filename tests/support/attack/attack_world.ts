/**
 * Runs under attack: three stages of three replicas and two validators, real roles with real arithmetic, some of them hostile.
 *
 * Owns the calm run that an attacked one is compared with, what is kept of a run, and its clock: computing takes its time here,
 * so that paces and deadlines mean something. Out of scope: what must hold afterwards (attack_checks.ts). Deterministic for a
 * seed.
 */

import { present } from "../../../core/assert.ts";
import { stageIndex } from "../../../core/ids.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { GradientBits } from "../../../core/codec/codec_names.ts";
import type { PayloadCodecName, Reducers } from "../../../core/config/payload_codec_names.ts";
import type { MinerRecord } from "../../../core/miner/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { type RoundState, StageUnavailable } from "../../../cli/orchestrator/hub/checkpoint_writer.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import { ValidatorHost } from "../../../cli/node/validator_host.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import type { Timers } from "../../../net/timers.ts";
import { type Hostile, hostileMiner, hostileValidator } from "../../lab/redteam/hostile_node.ts";
import { idle } from "../idle.ts";
import { MemoryHubBlobs } from "../../lab/world/memory_hub_blobs.ts";
import { countingBatches, LocalSwarm } from "../swarm/local_swarm.ts";
import { memoryOwnState } from "../swarm/memory_own_state.ts";
import { configOf } from "../swarm/whole_run.ts";

export const stages = 3;
export const rounds = 4;
export const steps = 12;

/**
 * So much text a step that who computes what hardly moves the final loss: calm runs whose miners differ in pace have a standard
 * deviation of 0.5 % (with 2 sequences and a rate of 1e-2 it was 1 to 2.6 %, beside which a bound of 3 % says little).
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
  readonly reducers?: Reducers; // of payloads, default: the hub, as stages are small
  readonly slownessOf?: (place: number) => number; // of the miner at this place, default: 1, its passes take their usual time
  readonly meddle?: (swarm: LocalSwarm, miners: readonly string[], validators: readonly string[]) => void; // every tick
}

/** What is kept of a run. */
export interface Aftermath {
  readonly attack: Attack;
  readonly swarm: LocalSwarm;
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

const forwardMs = 100;
const tickMs = 50;
const patienceMs = 600_000; // a calm run takes 22 s
const mostRecords = 20_000; // a calm run has 700; a task handed out and refused in a circle has no end

const processor: ComputeHost = {
  adapter: cpuAdapter,
  openStage: createCpuStage,
  finish: () => Promise.resolve(),
};

/** Computes as every node without a GPU does, and takes as long as a small device would. */
function timedHost(timers: Timers, slowness = 1): ComputeHost {
  const pass = (ms: number) => new Promise<void>((resolve) => timers.after(slowness * ms, resolve));
  return {
    ...processor,
    openStage: async (spec, options) => {
      const stage: StageCompute = await createCpuStage(spec, options);
      const forward = stage.forward.bind(stage);
      const backward = stage.backward.bind(stage);
      const turnaround = stage.turnaround.bind(stage);
      stage.forward = (...given) => pass(forwardMs).then(() => forward(...given));
      stage.backward = (...given) => pass(3 * forwardMs).then(() => backward(...given));
      stage.turnaround = (...given) => pass(3 * forwardMs).then(() => turnaround(...given));
      return stage;
    },
  };
}

const memberIndex = ({ stage, replica = 0 }: Attacker): number => replica * stages + stage;

export async function runAttack(attack: Attack): Promise<Aftermath> {
  const { miners: attackers = [], validators: seats = ["honest", "honest"] } = attack;
  const merged: number[] = [];
  const refused: { node: string; code: string; detail: string }[] = [];
  const kept = { members: new Set<string>(), startedMs: 0, endedMs: 0 };
  const config = configFor(attack);
  const places = stages * config.swarm.replicas;
  const store = new MemoryHubBlobs();
  const swarm = new LocalSwarm({
    config,
    host: () => processor,
    disk: { blobs: store, storeRound: (round) => readRound(store, round), putBackRound: () => Promise.resolve(false) },
    watch: (record, { timers, records, orchestrator: { state } }) => {
      if (records.all.length > mostRecords) throw new Error(`The run goes round in circles: ${JSON.stringify(record)}`);
      if (record.type === "runStarted") kept.startedMs = timers.nowMs();
      if (record.type === "roundMerged") merged.push(timers.nowMs() - kept.startedMs);
      if (record.type !== "runFinished") return;
      kept.endedMs = timers.nowMs() - kept.startedMs;
      kept.members = new Set(state.members.keys());
    },
  });
  const { timers } = swarm;
  const isOn = () => swarm.orchestrator.state.round >= (attack.fromRound ?? 0);
  for (let i = 0; i < places; i++) {
    const hostile = attackers.find((attacker) => memberIndex(attacker) === i)?.hostile;
    const host = timedHost(timers, attack.slownessOf?.(i));
    const own = hostile === undefined ? { device: host } : hostileMiner({ hostile, host, store, isOn });
    const { address } = await swarm.addMiner({
      ...own,
      ownState: memoryOwnState(),
      onRecord: (record) => noteRefusal(record, () => address),
    });
  }
  for (const seat of seats) {
    const host = timedHost(timers);
    swarm.addValidator(seat === "honest" ? { device: host } : hostileValidator({ hostile: seat, host, store, isOn }));
  }
  function noteRefusal(record: MinerRecord, address: () => string): void {
    if (record.type === "refused") refused.push({ node: address(), code: record.code, detail: record.detail });
  }
  const addresses = swarm.members.map(({ address }) => address);
  const miners = addresses.slice(0, places);
  const validators = addresses.slice(places);
  await passTime(swarm, () => attack.meddle?.(swarm, miners, validators));
  const culprits = [
    ...attackers.map((attacker) => miners[memberIndex(attacker)]),
    ...validators.filter((_, i) => seats[i] !== "honest"),
  ].map((address) => present(address, "an attacker has a place"));
  return {
    ...{ attack, swarm, state: swarm.orchestrator.state, records: swarm.records.all, miners, validators },
    ...{ hostile: new Set(culprits), refused, merged, ...kept },
    ...await finalModel(swarm, { config, store }),
  };
}

async function passTime(swarm: LocalSwarm, meddle: () => void): Promise<void> {
  let end: { failure: unknown } | null = null;
  swarm.run().then(() => end = { failure: null }, (failure) => end = { failure });
  for (let passedMs = 0; passedMs < patienceMs && end === null; passedMs += tickMs) {
    await idle();
    if (end === null) meddle();
    if (end === null) swarm.timers.advance(tickMs);
  }
  const { phase, step } = swarm.orchestrator.state;
  if (end === null) throw new Error(`The run is stuck: after ${patienceMs} ms its phase is ${phase}, its step ${step}`);
  const { failure } = end as { failure: unknown };
  if (failure !== null) throw failure; // the hub itself failed
}

/** Like the checkpoint writer: reads every stage, and reports a missing one. */
async function readRound(store: MemoryHubBlobs, { round, sources }: RoundState): Promise<string> {
  for (const [stage, source] of sources.entries()) {
    if (source.type !== "blobs") continue;
    for (const ref of [source.parameters, source.momentum]) {
      if (ref !== null && !store.held.has(ref.hash)) throw new StageUnavailable(stageIndex(stage), "not in memory");
    }
  }
  return await Promise.resolve(`round-${round}`);
}

async function finalModel(
  { orchestrator: { state }, stages: specs }: LocalSwarm,
  { config, store: blobs }: { config: RunConfig; store: MemoryHubBlobs },
): Promise<Pick<Aftermath, "trueLoss" | "parameters">> {
  const segments = byteSegments();
  const host = new ValidatorHost({ device: processor, blobs, segments });
  const { inputs, targets } = countingBatches(config).heldOut(config.validate.heldOutSequences);
  const hold = (ids: Uint32Array) => segments.hold(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
  const { round, stages: sources } = state.sources;
  const { layersOfStages } = state;
  const work = { type: "evaluate" as const, round, sources, inputs: hold(inputs), targets: hold(targets) };
  const result = await host.perform({ config, layersOfStages, work });
  const parameters: Float32Array[] = [];
  for (const [i, source] of sources.entries()) {
    const ref = source.type === "blobs" ? source.parameters : null;
    const bytes = await blobs.get(present(ref, `stage ${specs[i]?.index} was merged`));
    parameters.push(new Float32Array(bytes.slice().buffer));
  }
  return { trueLoss: result.type === "evaluate" ? result.loss : NaN, parameters };
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
