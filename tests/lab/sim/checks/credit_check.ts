/**
 * Each microbatch is credited exactly once, by a gradient at every stage.
 *
 * Reads what the orchestrator sends: the tasks it asked each miner to commit to, and the step headers that make them count.
 * When a step closes, the headers together must name every (microbatch, stage) of the step once, including those that
 * lost miners had committed. A header needs the miner's answer to the last request, and later each honest miner must apply
 * exactly what that named. A lost miner's tasks are kept only if it committed exactly those, and only if its stage's
 * share of the step is not lost as a whole.
 */

import type { RunConfig } from "../../../../core/config/config.ts";
import type { NodeId, TaskId } from "../../../../core/ids.ts";
import type { HubMessage, StepSealed } from "../../../../core/protocol/message.ts";
import { must } from "./violation.ts";

const stepsRemembered = 16; // a stuck miner may apply a step late

/** Of a miner that left after it had committed so many tasks. */
export interface KeptGradient {
  readonly node: NodeId;
  readonly tasks: number;
}

interface Seal {
  readonly request: number;
  readonly tasks: readonly TaskId[];
}

export class CreditCheck {
  readonly #config: RunConfig;
  readonly #sealed = new Map<number, Map<NodeId, Seal>>(); // by step: the last one
  readonly #confirmed = new Map<NodeId, Set<number>>(); // requests to commit, of the open step
  #credited: (readonly TaskId[])[] = [];
  #kept: { readonly node: NodeId; readonly tasks: readonly TaskId[] }[] = [];
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
      ofStep.set(to, message);
    } else if (message.type === "applyStep" && message.tasks > 0 && message.step === this.#closed) { // else sent again
      const seal = this.#sealed.get(message.step)?.get(to);
      const sealed = seal !== undefined && this.#isConfirmed(to, seal) ? seal.tasks : [];
      must(
        sealed.length === message.tasks,
        "a header counts what was committed",
        () => `${to} committed ${sealed.length} tasks of step ${message.step}, its header counts ${message.tasks}`,
      );
      this.#credited.push(sealed);
    }
  }

  onSealed(from: NodeId, message: StepSealed): void {
    if (message.step !== this.#closed) return;
    const seals = this.#confirmed.get(from);
    if (seals === undefined) this.#confirmed.set(from, new Set([message.request]));
    else seals.add(message.request);
  }

  nodeLost({ node, tasksKept }: { node: NodeId; tasksKept: number }): void {
    if (tasksKept === 0) return;
    const seal = this.#sealed.get(this.#closed)?.get(node);
    const tasks = seal?.tasks ?? [];
    must(
      seal !== undefined && tasks.length === tasksKept && this.#isConfirmed(node, seal),
      "only committed tasks outlive their miner",
      () => `${node} was asked for ${tasks.length}, ${tasksKept} were kept`,
    );
    this.#kept.push({ node, tasks });
  }

  #isConfirmed(node: NodeId, { request }: Seal): boolean {
    return this.#confirmed.get(node)?.has(request) === true;
  }

  /** `kept`: by the orchestrator's own account; what it has taken back since counts no more. */
  stepClosed(step: number, kept: readonly KeptGradient[]): void {
    must(step === this.#closed + 1, "steps close in order", () => `${step} after ${this.#closed}`);
    const { train: { microbatchesPerStep }, pipeline: { stages } } = this.#config;
    const first = (step - 1) * microbatchesPerStep;
    const seen = new Set<number>();
    const applied = new Set(this.#credited.flat().map((task) => Number(task.split(".", 2)[1])));
    must(applied.size === stages, "every stage applies a step", () => `step ${step} reached stages ${[...applied]}`);
    for (const tasks of [...this.#credited, ...this.#keptOf(kept)]) {
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
    this.#forgetStep(step);
  }

  #keptOf(kept: readonly KeptGradient[]): (readonly TaskId[])[] {
    const left = [...this.#kept];
    return kept.map(({ node, tasks }) => {
      const at = left.findLastIndex((each) => each.node === node && each.tasks.length === tasks);
      must(at !== -1, "only committed tasks outlive their miner", () => `${node} is said to have left ${tasks}`);
      return left.splice(at, 1)[0]?.tasks ?? [];
    });
  }

  rewound(toStep: number): void {
    this.#forgetStep(toStep);
  }

  #forgetStep(next: number): void {
    this.#credited = [];
    this.#kept = [];
    this.#confirmed.clear();
    this.#closed = next;
  }

  stepApplied(node: NodeId, applied: { step: number; tasks: readonly TaskId[] }): void {
    const sealed = this.#sealed.get(applied.step)?.get(node)?.tasks;
    if (sealed === undefined) return; // forgotten
    must(
      sealed.length === applied.tasks.length && sealed.every((task, i) => task === applied.tasks[i]),
      "a miner applies what it committed",
      () => `${node} in step ${applied.step}: committed ${sealed.join(" ")}, applied ${applied.tasks.join(" ")}`,
    );
  }
}
