/** Tickets of a test's orchestrator: the same key in each of its lives, unless a test says otherwise. */

import type { NodeId } from "../../../core/ids.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { TicketBox, ticketKeyBytes } from "../../../net/auth/ticket.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import { countingRandom } from "./manual_timers.ts";

export interface TestTicketsOptions {
  readonly hub: NodeId;
  readonly timers: Timers;
  readonly run?: string;
  readonly random?: Random;
  readonly keySeed?: number;
}

export function testTickets(options: TestTicketsOptions): TicketBox {
  const { hub, timers, run = "test", random = countingRandom(), keySeed = 1 } = options;
  const key = new Uint8Array(ticketKeyBytes).fill(keySeed);
  return new TicketBox({ key, run, hub, ticketMs: defaultNetLimits.ticketMs, timers, random });
}
