/** Shows a run while it happens: as a live screen or as plain lines. */

import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import { LiveScreen } from "../../terminal/screen/live_screen.ts";
import { frame } from "./panels.ts";
import { createPlainLines } from "./plain.ts";

export function openRunScreen({ output, view, nowMs, keys = [] }: ConsumerContext): ProjectionConsumer {
  const plain = createPlainLines();
  const screen = new LiveScreen({ output, nowMs, frame: (room) => frame(view, room), actions: keys, hasDetails: true });
  return {
    onRecord({ record, atMs }) {
      if (output.mode === "json") return;
      screen.drawSoon();
      for (const line of plain.of(record, view, atMs)) {
        if (screen.isOpen) output.keep(line); // the screen shows it in its own way; a log file still gets every line
        else output.line(line);
      }
    },
    close: () => screen.close(),
  };
}
