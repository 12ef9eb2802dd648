/**
 * A node with a real key and a real link that says whatever a test wants: what a stranger can do with the program.
 *
 * Owns the link and the log of what the orchestrator sent. It computes nothing and answers nothing by itself.
 */

import type { HubMessage, NodeMessage, Role } from "../../../core/protocol/message.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { Node } from "../../../net/links/node.ts";
import { readHubMessage } from "../../../net/messages/schema_hub.ts";
import type { HeldTicket } from "../../../net/auth/ticket.ts";
import { systemRandom, type Timers } from "../../../net/timers.ts";
import type { NodeEvent } from "../../../net/links/transport.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { EventLog } from "../event_log.ts";
import { testSigner, testVerify } from "../net/test_keys.ts";

export interface PatchedNodeOptions {
  readonly seed: number; // of its key
  readonly role: Role; // that its hello proves
  readonly dial: Dial;
  readonly timers: Timers;
  readonly url?: string;
}

/** A message and how many segments came with it. */
export type Told = HubMessage & { readonly segmentCount: number };

export class PatchedNode {
  readonly signer;
  readonly told = new EventLog<Told>();
  readonly events = new EventLog<NodeEvent<HubMessage>>();
  readonly #node: Node<HubMessage, NodeMessage>;

  constructor({ seed, role, dial, timers, url = "loopback:" }: PatchedNodeOptions) {
    this.signer = testSigner(seed);
    this.#node = new Node<HubMessage, NodeMessage>({
      url,
      identity: { signer: this.signer, role, run: null, hub: null },
      verify: testVerify,
      read: readHubMessage,
      limits: defaultNetLimits,
      timers,
      random: systemRandom,
      onEvent: (event) => {
        this.events.push(event);
        if (event.type === "message") this.told.push({ ...event.message, segmentCount: event.segments.length });
      },
    }, dial);
  }

  /** The ticket proves its requests to the orchestrator's store. */
  async connect(): Promise<HeldTicket> {
    this.#node.connect();
    return (await this.events.next("connected")).ticket;
  }

  send(message: NodeMessage): void {
    this.#node.send(message);
  }

  join(role: Role): void {
    this.send({ type: "join", role, adapter: "patched", previousStage: null, holding: null, listens: null });
  }

  close(): void {
    this.#node.close("test over");
  }
}
