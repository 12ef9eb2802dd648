/** Colours for text, or functions that do nothing. */

import picocolors from "picocolors";

export type Paint = ReturnType<typeof picocolors.createColors>;

export function createPaint(enabled: boolean): Paint {
  return picocolors.createColors(enabled);
}
