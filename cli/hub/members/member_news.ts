/**
 * What an orchestrator tells its members and its owner beside the run's own messages: clocks that differ, two processes with one
 * hotkey, a run that stands still.
 *
 * Owns: who is connected, for those messages. They go over the links directly, not through the run's machine.
 */

import type { NodeId } from "../../../core/ids.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import type { Notice } from "../../../core/protocol/notice.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { HubEvent } from "../../../net/links/transport.ts";
import { ClockWatch } from "./clock_watch.ts";
import { StandstillNews } from "./standstill.ts";

export interface MemberNewsOptions {
  readonly nowMs: () => number; // wall clock
  readonly send: (node: NodeId, notice: Notice) => void;
  readonly warn: (text: string) => void;
}

export class MemberNews {
  readonly #options: MemberNewsOptions;
  readonly #connected = new Set<NodeId>();
  readonly #clocks = new ClockWatch();
  readonly #standstill: StandstillNews;

  constructor(options: MemberNewsOptions) {
    this.#options = options;
    const tellAll = (notice: Notice) => this.#connected.forEach((node) => options.send(node, notice));
    this.#standstill = new StandstillNews({ nowMs: options.nowMs, tellAll });
  }

  onHubEvent(event: HubEvent<NodeMessage>): void {
    if (event.type === "peerConnected") this.#greet(event);
    if (event.type === "peerLost") this.#connected.delete(event.peer);
    if (event.type !== "rivalRefused") return;
    const { peer, from } = event;
    this.#options.send(peer, { type: "notice", about: "rival", from });
    this.#options.warn(`Two processes use the hotkey ${peer}: refused the one at ${from}`);
  }

  onRecord(record: RunRecord): void {
    this.#standstill.onRecord(record);
  }

  pausedByOwner(isPaused: boolean): void {
    this.#standstill.set("owner", isPaused);
  }

  #greet({ peer, clock, resumed }: Extract<HubEvent<NodeMessage>, { type: "peerConnected" }>): void {
    this.#connected.add(peer);
    const { current } = this.#standstill;
    if (!resumed && current !== null) this.#options.send(peer, current);
    const text = clock === null ? null : this.#clocks.note(peer, clock, this.#options.nowMs());
    if (text !== null) this.#options.warn(text);
  }
}
