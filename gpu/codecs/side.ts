/**
 * Token side embeddings (core/model/side.ts): each token's row, widened, joins the receiver's stream.
 *
 *     e = Table[id];   attention reads x + W e;   behind it the stream is a + W e, where x and a are the receiver's
 *
 * The table is read ahead of the blocks, so recomputing them needs no ids.
 */

import { present } from "../../core/assert.ts";
import { sideName, sideTableName } from "../../core/model/side.ts";
import type { Receiver } from "./codec.ts";
import type { BufferRange } from "../stage_ops.ts";
import { buildLinear, buildProduct, type Hold, type LayerContext } from "../layers/context.ts";
import { buildLookup, type Lookup } from "../layers/embed.ts";

export interface Side extends Lookup {
  readonly outputGradient: BufferRange; // (rows, k)
}

export function buildSide(context: LayerContext): Side | null {
  const { buffers, rows, spec: { index, wireIn } } = context;
  const width = wireIn?.sideWidth;
  if (width === undefined) return null;
  const outputGradient = buffers.scratch("side gradient", rows * width);
  const lookup = buildLookup(context, { table: sideTableName(index), width, label: "side values", outputGradient });
  return { ...lookup, outputGradient };
}

/**
 * Where the stream behind the attention is its input plus its output, W e is added to the input; otherwise it is the
 * attention's residual.
 */
export function withSide(
  context: LayerContext,
  receiver: Receiver,
  { side, hold }: { side: Side; hold: Hold },
): Receiver {
  const { rows, width, spec, residualGradient } = context;
  const sideWidth = present(spec.wireIn?.sideWidth, "a stage with a side has its width");
  const linear = {
    ...{ names: [sideName(spec.index)] as const, inWidth: sideWidth, outWidth: width, input: side.output },
    inputGradient: side.outputGradient,
  };
  const joined = hold("input with side", rows * width);
  const isApart = receiver.residual === undefined;
  const alone = isApart ? hold("side", rows * width) : joined;
  const gradients = isApart ? [receiver.inputGradient, residualGradient] : [residualGradient];
  const backward = () =>
    gradients.flatMap((outputGradient, i) =>
      buildLinear(context, { ...linear, output: alone, outputGradient, accumulate: i > 0 }).backward()
    );
  return {
    ...receiver,
    input: joined,
    residual: alone,
    before: {
      forward: [
        ...receiver.before.forward,
        ...buildProduct(context, { ...linear, output: joined, residual: receiver.input }),
        ...(isApart ? buildProduct(context, { ...linear, output: alone }) : []),
      ],
      backward: () => [...backward(), ...receiver.before.backward()],
    },
  };
}
