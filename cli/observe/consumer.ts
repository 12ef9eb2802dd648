/**
 * The seam between the one fold of a run's records and everything that shows it. A new consumer is one file that
 * exports an `OpenConsumer` and one line in consumers.ts.
 */

import type { NodeId } from "../../core/ids.ts";
import type { RunView } from "../../core/view/view.ts";
import type { StampedRecord } from "../../core/view/view_record.ts";
import type { RefusalCounts } from "../../net/auth/refusals.ts";
import type { HubPage } from "../../net/hub_http.ts";
import type { Timers } from "../../net/timers.ts";
import type { Output } from "../terminal/output/output.ts";
import type { KeyAction } from "../terminal/screen/live_screen.ts";

export interface HubIdentity {
  readonly runId: string;
  readonly hub: NodeId; // its key
}

export interface ConsumerContext {
  readonly view: RunView; // read-only; changes in place, before each `onRecord`
  readonly sequence: () => number;
  /** Of the record log; null: nothing is kept on disk. */
  readonly folder: string | null;
  readonly output: Output;
  readonly nowMs: () => number; // wall clock
  readonly timers: Timers;
  /** Connections that did not prove a node, since this process began. */
  readonly refused: () => RefusalCounts;
  /** Of the live screen, besides those that every screen has. */
  readonly keys?: readonly KeyAction[];
  readonly identity: HubIdentity | null; // null: this process serves no port
}

export interface ProjectionConsumer {
  onRecord?(entry: StampedRecord): void;
  /** Pages at the orchestrator's port, by path. */
  readonly pages?: Readonly<Record<string, HubPage>>;
  close?(): void;
}

export type OpenConsumer = (context: ConsumerContext) => ProjectionConsumer;
