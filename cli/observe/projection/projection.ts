/**
 * The view of a run in one process: each record is stamped, folded, logged and passed to the consumers, in this order.
 */

import { fold } from "../../../core/view/fold.ts";
import { emptyView, type RunView } from "../../../core/view/view.ts";
import type { RecordOf, StampedRecord, ViewRecord } from "../../../core/view/view_record.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import type { HubPage } from "../../../net/hub_http.ts";
import { systemTimers, type Timers } from "../../../net/timers.ts";
import type { Output } from "../../terminal/output/output.ts";
import type { KeyAction } from "../../terminal/screen/live_screen.ts";
import type { HubIdentity, OpenConsumer, ProjectionConsumer } from "../consumer.ts";
import type { OpenRecordLog } from "./record_log.ts";

interface ProjectionOptions {
  readonly output: Output;
  readonly opened: Omit<RecordOf<"opened">, "type">;
  readonly nowMs: () => number;
  readonly timers?: Timers;
  /** @default nothing is kept on disk */
  readonly records?: OpenRecordLog;
  readonly refused?: () => RefusalCounts;
  readonly identity?: HubIdentity;
  readonly keys?: readonly KeyAction[];
  readonly consumers: readonly OpenConsumer[];
}

const noRefusals: RefusalCounts = { total: 0, byCode: {} };

export class Projection {
  readonly view: RunView;
  readonly pages: Readonly<Record<string, HubPage>>;
  readonly #options: ProjectionOptions;
  readonly #consumers: readonly ProjectionConsumer[];
  #sequence: number;

  constructor(options: ProjectionOptions) {
    const { opened, output, nowMs, records, refused = () => noRefusals, identity = null, keys = [] } = options;
    const { consumers, timers = systemTimers } = options;
    this.#options = options;
    this.view = records?.view ?? emptyView();
    this.#sequence = records?.sequence ?? 0;
    this.keep({ type: "opened", ...opened });
    const sequence = () => this.#sequence;
    const folder = records?.folder ?? null;
    const context = { view: this.view, sequence, folder, output, nowMs, timers, refused, identity, keys };
    this.#consumers = consumers.map((open) => open(context));
    this.pages = Object.assign({}, ...this.#consumers.map(({ pages }) => pages));
  }

  tell(record: ViewRecord): void {
    const entry = this.keep(record);
    for (const consumer of this.#consumers) consumer.onRecord?.(entry);
  }

  keep(record: ViewRecord): StampedRecord {
    this.#sequence += 1;
    const entry: StampedRecord = { sequence: this.#sequence, atMs: this.#options.nowMs(), record };
    fold(this.view, entry);
    this.#options.records?.log.append(entry, this.view);
    return entry;
  }

  /** Later records are still folded and logged. */
  close(): void {
    for (const consumer of this.#consumers) consumer.close?.();
    this.#options.records?.log.close();
  }
}
