/**
 * Where stages are computed: a device that opens one or more of them. The GPU worker in production, the reference in tests.
 */

import type { AdapterDescription, StageCompute, StageOptions } from "../../gpu/compute.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import type { Restore } from "./stage_log.ts";

export interface HostedStage extends StageCompute {
  /**
   * Before a state is loaded, or once one can be had again: how to load it after a loss of the device. Absent where stages do
   * not survive one.
   */
  begin?(restore: Restore): void;
}

export interface ComputeHost {
  readonly adapter: AdapterDescription;
  openStage(spec: StageSpec, options?: StageOptions): Promise<HostedStage>;
  /** Lets calls in flight finish and refuses later ones; the process may exit then. */
  finish(): Promise<void>;
}
