/**
 * Each microbatch is credited exactly once, by a gradient at every stage.
 *
 * Reads what the orchestrator sends: the tasks it asked each miner to seal, and the step headers that make them count. When a
 * step closes, the headers together must name every (microbatch, stage) of the step once. Later each honest miner must apply
 * exactly what its last seal named.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { NodeId, TaskId } from "../../core/ids.ts";
import type { HubMessage } from "../../core/protocol/message.ts";
import { must } from "./violation.ts";

const stepsRemembered = 16; // a stuck miner may apply a step late

export class CreditCheck {
  readonly #config: RunConfig;
  readonly #sealed = new Map<number, Map<NodeId, readonly TaskId[]>>(); // by step
  #credited: (readonly TaskId[])[] = [];
  #closed = 0;

  constructor(config: RunConfig) {
    this.#config = config;
  }

  onSend(to: NodeId, message: HubMessage): void {
    if (message.type === "sealStep") {
      let ofStep = this.#sealed.get(message.step);
      if (ofStep === undefined) {
        this.#sealed.set(message.step, ofStep = new Map());
        this.#sealed.delete(message.step - stepsRemembered);
      }
      ofStep.set(to, message.tasks);
    } else if (message.type === "applyStep" && message.tasks > 0 && message.step === this.#closed) { // else sent again
      const tasks = this.#sealed.get(message.step)?.get(to) ?? [];
      must(
        tasks.length === message.tasks,
        "a header counts what was sealed",
        () => `${to} sealed ${tasks.length} tasks of step ${message.step}, its header counts ${message.tasks}`,
      );
      this.#credited.push(tasks);
    }
  }

  stepClosed(step: number): void {
    must(step === this.#closed + 1, "steps close in order", () => `${step} after ${this.#closed}`);
    const { train: { microbatchesPerStep }, pipeline: { stages } } = this.#config;
    const first = (step - 1) * microbatchesPerStep;
    const seen = new Set<number>();
    for (const tasks of this.#credited) {
      for (const task of tasks) {
        const [microbatch = NaN, stage = NaN] = task.split(".", 2).map(Number);
        const place = (microbatch - first) * stages + stage;
        must(
          place >= 0 && place < microbatchesPerStep * stages && !seen.has(place),
          "a microbatch is credited once",
          () => `${task} in step ${step}`,
        );
        seen.add(place);
      }
    }
    must(
      seen.size === microbatchesPerStep * stages,
      "a microbatch is credited at every stage",
      () => `step ${step} closed with ${seen.size} of ${microbatchesPerStep * stages} gradients`,
    );
    this.#credited = [];
    this.#closed = step;
  }

  rewound(toStep: number): void {
    this.#credited = [];
    this.#closed = toStep;
  }

  stepApplied(node: NodeId, applied: { step: number; tasks: readonly TaskId[] }): void {
    const sealed = this.#sealed.get(applied.step)?.get(node);
    if (sealed === undefined) return; // forgotten
    must(
      sealed.length === applied.tasks.length && sealed.every((task, i) => task === applied.tasks[i]),
      "a miner applies what it sealed",
      () => `${node} in step ${applied.step}: sealed ${sealed.join(" ")}, applied ${applied.tasks.join(" ")}`,
    );
  }
}
