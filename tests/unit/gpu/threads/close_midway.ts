/** A process that closes compute workers at various moments of their work, and ends only if no thread of them is left. */

import { assertRejects } from "@std/assert";
import { openComputeWorker } from "../../../../gpu/worker_client.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../../../support/tiny_model.ts";

const spec = specAt(
  specsOf(tinyConfig({ model: { width: 128, contextLength: 128 }, pipeline: { stages: 1 } }), [2]),
  0,
);
const { tokens, targets } = tokensOf(spec);

/** Turns of the event loop. */
async function turns(count: number): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  for (let i = 0; i < count; i++) {
    const turned = Promise.withResolvers<unknown>();
    port2.onmessage = turned.resolve;
    port1.postMessage(i);
    await turned.promise;
  }
  port1.close();
  port2.close();
}

for (const count of [0, 3, 30, 300]) {
  const worker = await openComputeWorker({ device: "cpu", threads: 3 });
  const stage = await worker.openStage(spec);
  await stage.loadParameters(parametersOf(spec));
  await stage.turnaround({ type: "tokens", tokens }, targets);
  const calls = Array.from({ length: 100 }, () => stage.turnaround({ type: "tokens", tokens }, targets));
  const last = assertRejects(() => calls[99]!, Error, "the compute worker was closed");
  const ended = Promise.allSettled(calls);
  await turns(count);
  worker.close();
  await Promise.all([last, ended]);
}
console.log("closed");
