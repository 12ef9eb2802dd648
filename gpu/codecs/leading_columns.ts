/** Copies between the first columns of rows as wide as the model and rows of a wire. */

import type { LayerContext } from "../layers/context.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";

interface LeadingColumns {
  /** wide[:, :w] += narrow */
  addTo(tensors: Columns): Dispatch;
  /** narrow += wide[:, :w] */
  addFrom(tensors: Columns): Dispatch;
  /** wide = [narrow, 0] */
  pad(tensors: Columns): Dispatch;
}

interface Columns {
  readonly wide: BufferRange; // (rows, d)
  readonly narrow: BufferRange; // (rows, w)
}

export function leadingColumns({ ops, rows, width }: LayerContext, wireWidth: number): LeadingColumns {
  const widened = { rows, columns: wireWidth, sourceWidth: wireWidth, targetWidth: width };
  const narrowed = { rows, columns: wireWidth, sourceWidth: width, targetWidth: wireWidth };
  return {
    addTo: ({ wide, narrow }) => ops.prefix({ ...widened, pad: false }, { source: narrow, target: wide }),
    addFrom: ({ wide, narrow }) => ops.prefix({ ...narrowed, pad: false }, { source: wide, target: narrow }),
    pad: ({ wide, narrow }) => ops.prefix({ ...widened, pad: true }, { source: narrow, target: wide }),
  };
}
