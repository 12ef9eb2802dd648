/**
 * A whole swarm in one process: the production roles over the in-memory transport, reference compute, blobs in memory.
 *
 * Everything but sockets, disk, device and clock is the real thing. Time moves only when a test says so; work is driven by
 * promises, so a run proceeds as fast as it computes.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { BlobRef, MicrobatchId } from "../../core/ids.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { keyOf, nextBelow, openStream } from "../../core/prng.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { Batch, BatchSource } from "../../cli/data/dataset.ts";
import type { ComputeHost } from "../../cli/run/compute_host.ts";
import type { HubBlobs } from "../../cli/run/blob_access.ts";
import { type RunningRole, startMiner } from "../../cli/run/miner_role.ts";
import type { Finished, NodeLink } from "../../cli/run/node_role.ts";
import { type RunningOrchestrator, startOrchestrator } from "../../cli/run/orchestrator_role.ts";
import type { RoundState } from "../../cli/run/checkpoint_writer.ts";
import { refOf } from "../../cli/run/segments.ts";
import { startValidator } from "../../cli/run/validator_role.ts";
import { createReferenceStage } from "../../gpu/reference/stage.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { createLoopback } from "../../net/loopback.ts";
import { EventLog } from "./event_log.ts";
import { LinkControl } from "./link_control.ts";
import { countingRandom, ManualTimers } from "./manual_timers.ts";
import { testSigner, testVerify } from "./test_keys.ts";

export class MemoryHubBlobs implements HubBlobs {
  readonly held = new Map<string, Uint8Array>();

  put(bytes: Uint8Array): Promise<BlobRef> {
    const ref = refOf(bytes);
    this.held.set(ref.hash, bytes.slice());
    return Promise.resolve(ref);
  }

  get(ref: BlobRef): Promise<Uint8Array> {
    const bytes = this.held.get(ref.hash);
    return bytes === undefined ? Promise.reject(new Error(`no blob ${ref.hash}`)) : Promise.resolve(bytes);
  }

  delete(ref: BlobRef): Promise<void> {
    this.held.delete(ref.hash);
    return Promise.resolve();
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
    adapter: { device: "reference", name: "reference", isSoftware: true },
    openStage: (spec) => Promise.resolve(createReferenceStage(spec)),
    close: () => {},
  };
}

export interface LocalSwarmOptions {
  readonly config: RunConfig;
  readonly miners?: number; // default: stages x replicas
  readonly host?: () => ComputeHost;
  readonly checkInvariants?: boolean;
}

export interface LocalMember {
  readonly role: RunningRole;
  readonly link: LinkControl;
  readonly address: string;
}

export class LocalSwarm {
  readonly timers = new ManualTimers();
  readonly blobs = new MemoryHubBlobs();
  readonly records = new EventLog<RunRecord>();
  readonly rounds: RoundState[] = [];
  readonly orchestrator: RunningOrchestrator;
  readonly stages: StageSpec[];
  readonly members: LocalMember[] = [];
  readonly refusals: unknown[] = [];
  readonly #options: LocalSwarmOptions;
  readonly #dial;
  #seeds = 10;

  constructor(options: LocalSwarmOptions) {
    const { config } = options;
    this.#options = options;
    const layersOfStages = splitLayers(config);
    this.stages = stageSpecs(config, layersOfStages);
    this.orchestrator = startOrchestrator({
      runId: "local",
      config,
      stages: this.stages,
      layersOfStages,
      signer: testSigner(1),
      verify: testVerify,
      admit: () => null,
      limits: defaultNetLimits,
      timers: this.timers,
      random: countingRandom(1),
      blobs: this.blobs,
      batches: countingBatches(config),
      storeRound: (round) => {
        this.rounds.push(round);
        return Promise.resolve(`round-${round.round}`);
      },
      onRecord: (record) => this.records.push(record),
    });
    this.#dial = createLoopback((wire) => this.orchestrator.accept(wire));
  }

  /** Starts every miner and validator the configuration asks for. */
  async startAll(): Promise<void> {
    const { config, miners = config.pipeline.stages * config.swarm.replicas } = this.#options;
    for (let i = 0; i < miners; i++) await this.addMiner();
    for (let i = 0; i < config.swarm.validators; i++) this.addValidator();
  }

  async addMiner(blobs: HubBlobs = this.blobs): Promise<LocalMember> {
    const { link, control } = this.#link();
    const device = this.#options.host?.() ?? referenceHost();
    const role = await startMiner({ link, device, blobs, moments: null, onRecord: () => {} });
    return this.#remember({ role, link: control, address: link.signer.address });
  }

  addValidator(): LocalMember {
    const { link, control } = this.#link();
    const role = startValidator({ link, device: referenceHost(), blobs: this.blobs, onRecord: () => {} });
    return this.#remember({ role, link: control, address: link.signer.address });
  }

  run(): Promise<Finished> {
    return this.orchestrator.finished;
  }

  #remember(member: LocalMember): LocalMember {
    member.role.finished.catch((error) => this.refusals.push(error)); // what some tests are about
    this.members.push(member);
    return member;
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
      firstAttempts: null,
      onOffline: () => {},
      onConnected: () => {},
    };
    return { link, control };
  }
}
