/**
 * Where stages are computed: a device that opens one or more of them. The GPU worker in production, the reference in tests.
 */

import type { AdapterDescription, StageCompute, StageOptions } from "../../gpu/compute.ts";
import type { StageSpec } from "../../core/model/spec.ts";

export interface ComputeHost {
  readonly adapter: AdapterDescription;
  openStage(spec: StageSpec, options?: StageOptions): Promise<StageCompute>;
  /** Lets calls in flight finish and refuses later ones; the process may exit then. */
  finish(): Promise<void>;
}
