/** A node's own screen, below the scrolling lines. */

import type { Output } from "../../terminal/output/output.ts";
import { type KeyAction, LiveScreen } from "../../terminal/screen/live_screen.ts";
import type { LinkMeter } from "./link_meter.ts";
import type { NodeEvent } from "./node_event.ts";
import { nodeFrame } from "./node_panel.ts";
import { foldNode, type NodeScreenView, openNodeView } from "./node_view.ts";

interface NodeScreenOptions {
  readonly output: Output;
  readonly role: NodeScreenView["role"];
  readonly address: string;
  readonly meter: LinkMeter;
  readonly nowMs: () => number;
  readonly actions?: readonly KeyAction[];
}

/** Returns a function that closes it and leaves the last frame. */
export function openNodeScreen(options: NodeScreenOptions): () => void {
  const { output, role, address, meter, nowMs, actions = [] } = options;
  if (output.mode !== "live") return () => {};
  const view = openNodeView(role, nowMs());
  const screen = new LiveScreen({
    ...{ output, nowMs, actions, hasDetails: true },
    frame: (room) => nodeFrame(view, { address, rates: meter.rates() }, room),
  });
  output.watchEvents((event) => {
    foldNode(view, event as NodeEvent, nowMs());
    screen.drawSoon();
  });
  return () => screen.close();
}
