/** What shows a run. A new consumer exports an `OpenConsumer` and has a line in consumers.ts. */

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
  readonly hub: NodeId;
}

export interface ConsumerContext {
  readonly view: RunView; // changes in place, before each `onRecord`
  readonly sequence: () => number;
  /** Null: nothing is kept on disk. */
  readonly folder: string | null;
  readonly output: Output;
  readonly nowMs: () => number;
  readonly timers: Timers;
  /** Connections without a proven node, since this process began. */
  readonly refused: () => RefusalCounts;
  readonly keys?: readonly KeyAction[];
  readonly identity: HubIdentity | null; // null: this process serves no port
}

export interface ProjectionConsumer {
  onRecord?(entry: StampedRecord): void;
  readonly pages?: Readonly<Record<string, HubPage>>;
  close?(): void;
}

export type OpenConsumer = (context: ConsumerContext) => ProjectionConsumer;
