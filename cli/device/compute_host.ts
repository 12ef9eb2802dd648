/** A device that opens stages: the GPU worker in production, the reference in tests. */

import type { AdapterDescription, StageCompute, StageOptions } from "../../gpu/compute.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import type { Restore } from "./stage_log.ts";

export interface HostedStage extends StageCompute {
  /** How to load a state after a loss of the device. Absent where stages do not survive one. */
  begin?(restore: Restore): void;
}

export interface ComputeHost {
  readonly adapter: AdapterDescription;
  openStage(spec: StageSpec, options?: StageOptions): Promise<HostedStage>;
  /** Refuses later calls; the process may exit then. */
  finish(): Promise<void>;
}
