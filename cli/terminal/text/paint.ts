/** Colours for text, or the same functions doing nothing. Only this file decides how a colour is written. */

import picocolors from "picocolors";

export type Paint = ReturnType<typeof picocolors.createColors>;

export function createPaint(enabled: boolean): Paint {
  return picocolors.createColors(enabled);
}
