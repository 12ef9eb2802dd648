/**
 * What an orchestrator tells members and its owner beside the run's messages. Invariant: the owner reads nothing of a
 * node before it is a member, so that strangers cost only lines of counted refusals (net/auth/refusals.ts).
 */

import type { NodeId } from "../../../../core/ids.ts";
import type { NodeMessage } from "../../../../core/protocol/message.ts";
import { type Notice, type Standstill, standstills } from "../../../../core/protocol/notice.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import type { ClockDifference } from "../../../../net/auth/clocks.ts";
import type { HubEvent } from "../../../../net/links/transport.ts";
import { ClockWatch } from "../../../roles/clock_watch.ts";

interface MemberNewsOptions {
  readonly nowMs: () => number;
  readonly isMember: (node: NodeId) => boolean; // joined, and not lost
  readonly send: (node: NodeId, notice: Notice) => void;
  readonly warn: (text: string) => void;
}

export class MemberNews {
  readonly #options: MemberNewsOptions;
  readonly #connected = new Map<NodeId, ClockDifference | null>(); // by the last hello; null: not compared
  readonly #clocks = new ClockWatch();
  readonly #standstill: StandstillNews;

  constructor(options: MemberNewsOptions) {
    this.#options = options;
    const tellAll = (notice: Notice) => this.#connected.forEach((_, node) => options.send(node, notice));
    this.#standstill = new StandstillNews({ nowMs: options.nowMs, tellAll });
  }

  onHubEvent(event: HubEvent<NodeMessage>): void {
    if (event.type === "peerConnected") this.#greet(event);
    if (event.type === "peerLost") this.closed(event.peer);
    if (event.type !== "rivalRefused") return;
    const { peer, from } = event;
    this.#options.send(peer, { type: "notice", about: "rival", from });
    if (this.#options.isMember(peer)) {
      this.#options.warn(`Two processes use the hotkey ${peer}: refused the one at ${from}`);
    }
  }

  onRecord(record: RunRecord): void {
    this.#standstill.onRecord(record);
    if (record.type === "nodeJoined") this.#compareClock(record.node);
    if (record.type === "nodeLost") this.#clocks.left(record.node);
  }

  closed(node: NodeId): void {
    this.#connected.delete(node);
  }

  pausedByOwner(isPaused: boolean): void {
    this.#standstill.set("owner", isPaused);
  }

  #greet({ peer, clock, resumed }: Extract<HubEvent<NodeMessage>, { type: "peerConnected" }>): void {
    this.#connected.set(peer, clock);
    const { current } = this.#standstill;
    if (!resumed && current !== null) this.#options.send(peer, current);
    if (this.#options.isMember(peer)) this.#compareClock(peer);
  }

  #compareClock(member: NodeId): void {
    const clock = this.#connected.get(member) ?? null;
    const text = clock === null ? null : this.#clocks.note(member, clock, this.#options.nowMs());
    if (text !== null) this.#options.warn(text);
  }
}

/** Members' screens would otherwise show a run that trains. */
type StandstillNotice = Extract<Notice, { about: "standstill" }>;

export class StandstillNews {
  readonly #since = new Map<Standstill, number>();
  readonly #nowMs: () => number;
  readonly #tellAll: (notice: Notice) => void;
  #stages: readonly number[] = [];

  constructor({ nowMs, tellAll }: { nowMs: () => number; tellAll: (notice: Notice) => void }) {
    this.#nowMs = nowMs;
    this.#tellAll = tellAll;
  }

  /** For a joining member; null: the run goes on. */
  get current(): StandstillNotice | null {
    const why = standstills.find((reason) => this.#since.has(reason));
    if (why === undefined) return null;
    const stages = why === "stages" ? this.#stages : [];
    return { type: "notice", about: "standstill", why, stages, sinceMs: this.#since.get(why) ?? 0 };
  }

  set(reason: Standstill, holds: boolean): void {
    if (holds === this.#since.has(reason)) return;
    const before = this.current?.why;
    if (holds) this.#since.set(reason, Math.floor(this.#nowMs()));
    else this.#since.delete(reason);
    if (this.current?.why !== before) this.#tell();
  }

  onRecord(record: RunRecord): void {
    if (record.type === "runPaused" || record.type === "runContinued") {
      return this.set("disk", record.type === "runPaused");
    }
    if (record.type === "trainingHalted" || record.type === "trainingRetried") {
      return this.set("halt", record.type === "trainingHalted");
    }
    if (record.type !== "stagesUnserved") return;
    const isOther = this.#stages.join() !== record.stages.join();
    this.#stages = record.stages;
    const holds = record.stages.length > 0;
    if (holds && this.current?.why === "stages" && isOther) this.#tell();
    this.set("stages", holds);
  }

  #tell(): void {
    const sinceMs = Math.floor(this.#nowMs());
    this.#tellAll(this.current ?? { type: "notice", about: "standstill", why: null, stages: [], sinceMs });
  }
}
