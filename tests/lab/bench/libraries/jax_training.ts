/**
 * A training step in jax-js as ours is: gradients of microbatches are summed, then their norm and AdamW. Each half is one
 * compiled function.
 */

import type { StepTask } from "../compute/task.ts";
import { ropeTable } from "../../../../gpu/attention_sizes.ts";
import type { Jax, JaxArray, Tree } from "./jax_api.ts";
import { initialJaxParameters, type JaxBatch, jaxLoss, type JaxParameters } from "./jax_model.ts";
import type { Prepared } from "./library.ts";

const [beta1, beta2, epsilon, weightDecay] = [0.9, 0.95, 1e-8, 0.1];

type State = { parameters: JaxParameters; first: JaxParameters; second: JaxParameters };
type Gathered = { gradients: JaxParameters; loss: JaxArray };

export class JaxTraining implements Prepared {
  readonly units: number; // tokens of a step
  readonly #jax: Jax;
  readonly #task: StepTask;
  readonly #batch: JaxBatch;
  readonly #gather: (parameters: JaxParameters, gathered: Gathered, batch: JaxBatch) => Gathered;
  readonly #update: (state: State, gradients: JaxParameters, bias: { first: JaxArray; second: JaxArray }) => Tree;
  #state: State;
  #steps = 0;

  constructor(jax: Jax, task: StepTask) {
    this.#jax = jax;
    this.#task = task;
    this.units = task.sequences * task.model.contextLength * task.microbatches;
    this.#batch = batchOf(jax, task);
    const parameters = initialJaxParameters(jax, task);
    this.#state = { parameters, first: this.#zeros(parameters), second: this.#zeros(parameters) };
    const lossAndGradients = jax.valueAndGrad(jaxLoss(jax, task));
    this.#gather = jax.jit((weights: JaxParameters, gathered: Gathered, batch: JaxBatch): Gathered => {
      const [loss, fresh] = lossAndGradients(weights, batch);
      const gradients = jax.tree.map((a, b) => a.add(b), gathered.gradients, fresh) as JaxParameters;
      return { gradients, loss: gathered.loss.add(loss) };
    });
    this.#update = jax.jit((state: State, gradients: JaxParameters, bias: { first: JaxArray; second: JaxArray }) =>
      this.#adamw(state, { gradients, bias })
    );
  }

  async run(times: number): Promise<void> {
    for (let i = 0; i < times; i++) await this.step();
  }

  /** Returns the mean loss of its microbatches. */
  async step(): Promise<number> {
    const { tree, numpy } = this.#jax;
    const { microbatches } = this.#task;
    let gathered: Gathered = { gradients: this.#zeros(this.#state.parameters), loss: numpy.array(0) };
    for (let i = 0; i < microbatches; i++) {
      gathered = this.#gather(tree.ref(this.#state.parameters), gathered, tree.ref(this.#batch));
    }
    this.#steps += 1;
    const bias = {
      first: numpy.array(1 / (1 - beta1 ** this.#steps)),
      second: numpy.array(1 / (1 - beta2 ** this.#steps)),
    };
    const { square, ...state } = this.#update(this.#state, gathered.gradients, bias) as State & { square: JaxArray };
    this.#state = state;
    await square.data(); // ours reads the norm of every step, too
    const [sum] = await gathered.loss.data();
    return sum! / microbatches;
  }

  dispose(): void {
    this.#jax.tree.dispose(this.#state);
    this.#jax.tree.dispose(this.#batch);
  }

  #zeros(like: JaxParameters): JaxParameters {
    const { tree, numpy } = this.#jax;
    return tree.map((leaf) => {
      const zeros = numpy.zeros(leaf.shape);
      leaf.dispose();
      return zeros;
    }, tree.ref(like)) as JaxParameters;
  }

  #adamw(
    { parameters, first, second }: State,
    { gradients, bias }: { gradients: JaxParameters; bias: { first: JaxArray; second: JaxArray } },
  ): Tree {
    const { tree, numpy } = this.#jax;
    const { learningRate, microbatches } = this.#task;
    const squares = tree.leaves(gradients).map((each) => numpy.sum(each.ref.mul(each.ref)));
    const square = squares.reduce((sum, each) => sum.add(each));
    const mean = tree.map((gradient) => gradient.mul(1 / microbatches), gradients) as JaxParameters;
    const moment = (old: JaxParameters, beta: number, fresh: (gradient: JaxArray) => JaxArray) =>
      tree.map((m, g) => m.mul(beta).add(fresh(g).mul(1 - beta)), old, tree.ref(mean)) as JaxParameters;
    const nextFirst = moment(first, beta1, (gradient) => gradient);
    const nextSecond = moment(second, beta2, (gradient) => gradient.ref.mul(gradient));
    tree.dispose(mean);
    const next = tree.map(
      (p, m, v) => {
        const change = m.mul(bias.first.ref).div(numpy.sqrt(v.mul(bias.second.ref)).add(epsilon));
        return p.mul(1 - learningRate * weightDecay).sub(change.mul(learningRate));
      },
      parameters,
      tree.ref(nextFirst),
      tree.ref(nextSecond),
    );
    Object.values(bias).forEach((each) => each.dispose());
    return { parameters: next, first: nextFirst, second: nextSecond, square };
  }
}

/** The tokens that ours gets, each the target of its place. */
function batchOf({ numpy }: Jax, { model, sequences }: StepTask): JaxBatch {
  const { contextLength, vocabSize, width, heads } = model;
  const headWidth = width / heads;
  const tokens = Int32Array.from({ length: sequences * contextLength }, (_, i) => (i * 7) % vocabSize);
  const sizes = { sequences, length: contextLength, heads, kvHeads: heads, headWidth };
  const table = ropeTable(sizes, model);
  const half = table.length / 2;
  const tableOf = (part: Float32Array) => numpy.array(part).reshape([contextLength, headWidth / 2]);
  return {
    tokens: numpy.array(tokens),
    targets: numpy.array(tokens),
    cosines: tableOf(table.slice(0, half)),
    sines: tableOf(table.slice(half)),
  };
}
