/** What an orchestrator measures of its run beside the machine. */

import type { RunConfig } from "../../../core/config/config.ts";
import { TrainedTokens } from "../../../core/view/trained_tokens.ts";
import type { RecordOf } from "../../../core/view/view_record.ts";
import { systemTimers } from "../../../net/timers.ts";
import { bf16BytesPerToken, type Traffic } from "../traffic.ts";
import type { Projection } from "./projection.ts";

export interface Measures {
  readonly trained: TrainedTokens;
  readonly firstStepAtMs: number | null;
  tellTraffic(): void;
  onStep(record: RecordOf<"stepClosed">): void;
}

export function openMeasures(
  projection: Projection,
  { config, traffic }: { config: RunConfig; traffic: () => Traffic },
): Measures {
  const trained = new TrainedTokens();
  const tellTraffic = () => projection.tell({ type: "bytesMoved", ...traffic().takeMoved() });
  let firstStepAtMs: number | null = null;
  return {
    trained,
    get firstStepAtMs() {
      return firstStepAtMs;
    },
    tellTraffic,
    onStep(record) {
      tellTraffic();
      tellWire(projection, { traffic: traffic(), config });
      trained.note(record);
      firstStepAtMs ??= systemTimers.nowMs();
    },
  };
}

function tellWire(projection: Projection, { traffic, config }: { traffic: Traffic; config: RunConfig }): void {
  const forwardBytes = traffic.bytesPerToken("forward");
  const backwardBytes = traffic.bytesPerToken("backward");
  if (forwardBytes === null || backwardBytes === null) return;
  projection.tell({ type: "wire", forwardBytes, backwardBytes, bf16Bytes: bf16BytesPerToken(config) });
}
