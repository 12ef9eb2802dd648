/** Shows a run as a live screen or as plain lines. */

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
        if (screen.isOpen) output.keep(line); // only a log file gets the line
        else output.line(line);
      }
    },
    close: () => screen.close(),
  };
}
