/** `iota experiment zoo`: on a small trained model honest work passes this program's rule and no cheat does; a cosine accepts most. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { auditZoo } from "../../cli/experiment/zoo/audit_zoo.ts";
import { ratesOf, zooRows } from "../../cli/experiment/zoo/run_zoo.ts";
import type { ComputeHost } from "../../cli/roles/compute_host.ts";
import { resolveConfig } from "../../core/config/parse.ts";
import { cpuAdapter, createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { countingBatches } from "../support/swarm/local_swarm.ts";

const device: ComputeHost = { adapter: cpuAdapter, openStage: createCpuStage, finish: () => Promise.resolve() };

for (const codec of ["none", "q5block"]) {
  Deno.test(`Zoo: codec ${codec}, every cheat is found and no honest work fails`, async () => {
    const overrides = { "train.steps": 20, "pipeline.stages": 3, "pipeline.codec": codec };
    const resolved = resolveConfig({ size: "toy", overrides });
    assert(resolved.ok);
    const { config } = resolved;
    const { signal } = new AbortController();
    const judged = await auditZoo({ config, batches: countingBatches(config), device, signal, microbatches: 4 });
    const rows = zooRows(judged, config.validate.tolerance);
    const { found, falselyFailed, missedByOriginal } = ratesOf(rows);
    assertEquals([found, falselyFailed], [1, 0], JSON.stringify(rows));
    assertLess(0.5, missedByOriginal);
    const [same, other] = rows;
    assertEquals([same!.mostError, same!.equalShare], [0, 1]);
    assertLess(other!.mostError, config.validate.tolerance / 10);
  });
}
