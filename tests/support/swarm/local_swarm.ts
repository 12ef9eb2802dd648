/**
 * A whole swarm in one process: the production roles over the in-memory transport, reference compute, blobs in memory.
 *
 * Everything but sockets, disk, device and clock is the real thing. Time moves only when a test says so; work is driven by
 * promises, so a run proceeds as fast as it computes.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import type { BlobHash, BlobRef, MicrobatchId } from "../../../core/ids.ts";
import { mayRead } from "../../../core/orchestrator/access.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import type { MinerScore } from "../../../core/score/work_score.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Batch, BatchSource } from "../../../cli/model/data/dataset.ts";
import { MemoryHubBlobs } from "../../lab/world/memory_hub_blobs.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import type { BlobAccess, HubBlobs } from "../../../cli/roles/blob_access.ts";
import type { RecoveredRun, StateJournal } from "../../../cli/orchestrator/hub/journal/hub_journal.ts";
import { type MinerRoleOptions, type RunningRole, startMiner } from "../../../cli/node/miner_role.ts";
import type { NodeLink } from "../../../cli/node/node_role.ts";
import type { Finished } from "../../../cli/node/node_runtime.ts";
import type { VectorArithmetic } from "../../../cli/orchestrator/hub/arithmetic/vector_calls.ts";
import { startOrchestrator } from "../../../cli/orchestrator/hub/orchestrator_role.ts";
import type { RunningOrchestrator } from "../../../cli/orchestrator/hub/running_orchestrator.ts";
import type { EarlierRound, RoundState } from "../../../cli/orchestrator/hub/checkpoint_writer.ts";
import { type PauseGate, PausingRole } from "../../../cli/node/pausing_role.ts";
import { startValidator, type ValidatorRoleOptions } from "../../../cli/node/validator_role.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import type { Admit, Signer } from "../../../net/auth/hello.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { createLoopback } from "../../../net/links/loopback.ts";
import { EventLog } from "../event_log.ts";
import { LinkControl } from "../net/link_control.ts";
import { countingRandom, ManualTimers } from "../net/manual_timers.ts";
import { testSigner, testVerify } from "../net/test_keys.ts";
import { testTickets } from "../net/test_tickets.ts";

/** The hub's store as one node sees it: what its duty does not need is refused, as the hub's port does. */
export class NodeBlobs implements BlobAccess {
  readonly #store: BlobAccess;
  readonly #isAllowed: (hash: BlobHash) => boolean;

  constructor(store: BlobAccess, isAllowed: (hash: BlobHash) => boolean) {
    this.#store = store;
    this.#isAllowed = isAllowed;
  }

  put(bytes: Uint8Array): Promise<BlobRef> {
    return this.#store.put(bytes);
  }

  get(ref: BlobRef): Promise<Uint8Array> {
    if (this.#isAllowed(ref.hash)) return this.#store.get(ref);
    return Promise.reject(new BlobError("refused", `Cannot read blob ${ref.hash} as this node's work must need it`));
  }
}

/** Sequences that can be learned: each token is the one before plus a step that the sequence keeps. */
export function countingBatches(config: RunConfig): BatchSource {
  const { sequencesPerMicrobatch } = config.train;
  const make = (label: string, index: number, sequences: number): Batch => {
    const { contextLength, vocabSize } = config.model;
    const stream = openStream(keyOf(config.seed, label, index));
    const inputs = new Uint32Array(sequences * contextLength);
    const targets = new Uint32Array(sequences * contextLength);
    for (let sequence = 0; sequence < sequences; sequence++) {
      let token = nextBelow(stream, vocabSize);
      const stride = 1 + nextBelow(stream, 3);
      for (let t = 0; t < contextLength; t++) {
        inputs[sequence * contextLength + t] = token;
        token = (token + stride) % vocabSize;
        targets[sequence * contextLength + t] = token;
      }
    }
    return { inputs, targets };
  };
  return {
    windows: 1 << 20,
    heldOutWindows: 64,
    tokensOf: (microbatch: MicrobatchId) => make("train", microbatch, sequencesPerMicrobatch),
    heldOut: (sequences: number) => make("held-out", 0, sequences),
  };
}

export function referenceHost(): ComputeHost {
  return {
    adapter: { device: "cpu", name: "reference", isSoftware: true },
    openStage: (spec, options) => Promise.resolve(createReferenceStage(spec, options)),
    finish: () => Promise.resolve(),
  };
}

export interface LocalSwarmOptions {
  readonly config: RunConfig;
  /** Receives every record before the machine's next effect is performed: the place to inject a fault. */
  readonly watch?: (record: RunRecord, swarm: LocalSwarm) => void;
  readonly admit?: Admit; // default: anyone
  readonly runId?: string;
  readonly miners?: number; // default: stages x replicas
  readonly host?: () => ComputeHost;
  readonly journal?: StateJournal;
  readonly timers?: ManualTimers;
  readonly disk?: LocalDisk; // default: blobs in memory, checkpoints that are never read
  readonly arithmetic?: VectorArithmetic; // default: on this thread
}

/** Where a test wants a run to be stored. */
export interface LocalDisk {
  readonly blobs: HubBlobs;
  readonly storeRound: (round: RoundState) => Promise<string>;
  readonly putBackRound: (round: number) => Promise<boolean>;
  readonly putBackEarlier?: (round: number) => Promise<EarlierRound | null>; // default: there is none
  readonly memberBlobs?: (signer: Signer) => BlobAccess; // default: as the hub's own
  readonly probeRoom?: (bytes: number) => Promise<void>;
}

/** What a member has of its own instead of an honest one's. */
export interface LocalMinerOptions
  extends Partial<Pick<MinerRoleOptions, "device" | "machine" | "onRecord" | "ownState">> {
  readonly blobs?: HubBlobs;
}

export interface LocalValidatorOptions extends Partial<Pick<ValidatorRoleOptions, "device" | "machine">> {
  readonly blobs?: HubBlobs;
}

export interface LocalMember {
  readonly role: RunningRole;
  readonly link: LinkControl;
  readonly address: string;
}

interface NewLife {
  readonly journal: StateJournal | null;
  readonly recovered: RecoveredRun | null;
  readonly savedWires?: ReadonlyMap<BlobHash, Uint8Array>; // none after a kill
  readonly config?: RunConfig;
}

export class LocalSwarm {
  readonly timers: ManualTimers;
  readonly blobs = new MemoryHubBlobs();
  readonly records = new EventLog<RunRecord>();
  readonly rounds: RoundState[] = [];
  orchestrator: RunningOrchestrator;
  readonly stages: StageSpec[];
  readonly members: LocalMember[] = [];
  readonly scores: { validator: string; round: number; scores: readonly MinerScore[] }[] = []; // of all validators
  readonly refusals: unknown[] = [];
  readonly #options: LocalSwarmOptions;
  readonly #layersOfStages: number[];
  readonly #dial;
  #seeds = 10;

  constructor(options: LocalSwarmOptions) {
    const { config } = options;
    this.#options = options;
    this.timers = options.timers ?? new ManualTimers();
    this.#layersOfStages = splitLayers(config);
    this.stages = stageSpecs(config, this.#layersOfStages);
    this.orchestrator = this.#startOrchestrator({ journal: options.journal ?? null, recovered: null });
    this.#dial = createLoopback((wire) => this.orchestrator.accept(wire));
  }

  /** Restarts the orchestrator from the last one's journal, with another configuration if one is given. */
  restart(from: NewLife & { journal: StateJournal }): void {
    this.orchestrator = this.#startOrchestrator(from);
  }

  #startOrchestrator(
    { journal, recovered, savedWires = new Map(), config = this.#options.config }: NewLife,
  ): RunningOrchestrator {
    const { watch, disk, arithmetic, runId = "local" } = this.#options;
    return startOrchestrator({
      runId,
      config,
      stages: this.stages,
      layersOfStages: this.#layersOfStages,
      journal,
      recovered,
      savedWires,
      signer: testSigner(1),
      verify: testVerify,
      admit: this.#options.admit ?? (() => null),
      tickets: testTickets({ hub: testSigner(1).address, run: runId, timers: this.timers }),
      limits: defaultNetLimits,
      timers: this.timers,
      random: countingRandom(1),
      blobs: disk?.blobs ?? this.blobs,
      batches: countingBatches(config),
      storeRound: (round) => {
        this.rounds.push(round);
        return disk?.storeRound(round) ?? Promise.resolve(`round-${round.round}`);
      },
      openReferee: () => Promise.resolve(this.#options.host?.() ?? referenceHost()),
      ...(arithmetic === undefined ? {} : { arithmetic }),
      ...(disk === undefined ? {} : { putBackRound: disk.putBackRound }),
      ...(disk?.putBackEarlier === undefined ? {} : { putBackEarlier: disk.putBackEarlier }),
      ...(disk?.probeRoom === undefined ? {} : { probeRoom: disk.probeRoom }),
      onRecord: (record) => {
        this.records.push(record);
        watch?.(record, this);
      },
    });
  }

  /** Starts every miner and validator the configuration asks for. */
  async startAll(): Promise<void> {
    const { config, miners = config.pipeline.stages * config.swarm.replicas } = this.#options;
    for (let i = 0; i < miners; i++) await this.addMiner();
    for (let i = 0; i < config.swarm.validators; i++) this.addValidator();
  }

  async addMiner(
    options: LocalMinerOptions & { gate?: PauseGate; onPause?: (event: string) => void } = {},
  ): Promise<LocalMember> {
    const { link, control } = this.#link();
    const { device = this.#options.host?.() ?? referenceHost() } = options;
    const blobs = this.#blobsOf(link.signer, options.blobs);
    const { gate, onPause = () => {}, machine, onRecord = () => {}, ownState = null } = options;
    const start = () =>
      startMiner({ link, device, blobs, ownState, onRecord, ...(machine === undefined ? {} : { machine }) });
    const role = gate === undefined ? await start() : new PausingRole({
      gate,
      start,
      onPaused: ({ reason }) => onPause(`paused: ${reason}`),
      onResumed: () => onPause("resumed"),
    });
    return this.#remember({ role, link: control, address: link.signer.address });
  }

  addValidator(options: LocalValidatorOptions = {}): LocalMember {
    const { link, control } = this.#link();
    const { device = referenceHost(), machine } = options;
    const blobs = this.#blobsOf(link.signer, options.blobs);
    const onScores = (round: number, scores: readonly MinerScore[]) =>
      this.scores.push({ validator: link.signer.address, round, scores });
    const role = startValidator({
      ...{ link, device, blobs, onRecord: () => {}, onScores },
      ...(machine === undefined ? {} : { machine }),
    });
    return this.#remember({ role, link: control, address: link.signer.address });
  }

  member(address: string): LocalMember {
    const member = this.members.find((each) => each.address === address);
    if (member === undefined) throw new Error(`no member ${address}`);
    return member;
  }

  /** Like SIGKILL: the link breaks and the node no longer answers. */
  kill(address: string): void {
    const { link } = this.member(address);
    link.unreachable = true;
    link.cut();
  }

  /** Resolves when nothing more happens without time: all promises, then one turn of the event loop. */
  quiet(): Promise<void> {
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(null);
    });
  }

  /** Lets everything pending happen, then moves time, until `isDone`. */
  async runUntil(isDone: () => boolean, options: { stepMs: number; atMostMs: number }): Promise<void> {
    for (let passedMs = 0; passedMs <= options.atMostMs; passedMs += options.stepMs) {
      await this.quiet();
      if (isDone()) return;
      this.timers.advance(options.stepMs);
    }
    throw new Error(`Not there after ${options.atMostMs} ms: phase is ${this.orchestrator.state.phase}`);
  }

  async runThrough(options: { stepMs: number; atMostMs: number }): Promise<Finished> {
    let isOver = false;
    this.orchestrator.finished.then(() => isOver = true);
    await this.runUntil(() => isOver, options);
    return await this.orchestrator.finished;
  }

  run(): Promise<Finished> {
    return this.orchestrator.finished;
  }

  #remember(member: LocalMember): LocalMember {
    member.role.finished.catch((error) => this.refusals.push(error)); // what some tests are about
    this.members.push(member);
    return member;
  }

  #blobsOf(signer: Signer, own?: BlobAccess): BlobAccess {
    const { disk } = this.#options;
    const store = own ?? disk?.memberBlobs?.(signer) ?? disk?.blobs ?? this.blobs;
    return new NodeBlobs(store, (hash) => mayRead(this.orchestrator.state, { node: signer.address, hash }));
  }

  #link(): { link: NodeLink; control: LinkControl } {
    const control = new LinkControl(this.#dial);
    const seed = ++this.#seeds;
    const link: NodeLink = {
      url: "loopback:",
      signer: testSigner(seed),
      verify: testVerify,
      dial: control.dial,
      limits: defaultNetLimits,
      timers: this.timers,
      random: countingRandom(seed),
      giveUpAfterMs: null,
      onOffline: () => {},
      onWaiting: () => {},
      onConnected: () => {},
    };
    return { link, control };
  }
}
