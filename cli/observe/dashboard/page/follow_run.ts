/// <reference lib="dom" />
/**
 * The run's state in the page, kept current by `/events`. While all viewer places are taken, it polls `/api/v1/run`.
 */

import type { RunSnapshot } from "../../public/public_shape.ts";
import { type RunChanges, withChanges } from "./run_state.ts";

interface Following {
  readonly onState: (state: RunSnapshot) => void;
  readonly onLink: (text: string) => void;
}

const retryMs = 5_000;
const oldMs = 60_000; // nobody writes to the folder
const silentMs = 3_000; // a reconnection takes less

export function followRun({ onState, onLink }: Following): void {
  let state: RunSnapshot | null = null;
  let silent: ReturnType<typeof setTimeout> | undefined;
  const take = (next: RunSnapshot, text: string | null) => {
    state = next;
    clearTimeout(silent);
    silent = undefined;
    onState(next);
    onLink(text ?? liveText(next));
  };
  const connect = () => {
    const source = new EventSource("/events");
    source.addEventListener("open", () => {
      clearTimeout(silent);
      silent = undefined;
      if (state !== null) onLink(liveText(state));
    });
    source.addEventListener("snapshot", ({ data }) => take(JSON.parse(data), null));
    source.addEventListener("changes", ({ data }) => {
      if (state !== null) take(withChanges(state, JSON.parse(data) as RunChanges), null);
    });
    source.addEventListener("error", () => {
      silent ??= setTimeout(() => onLink("The orchestrator does not answer; trying again"), silentMs);
      if (source.readyState !== EventSource.CLOSED) return; // the browser reconnects
      source.close();
      setTimeout(connect, retryMs);
      ask(take);
    });
  };
  connect();
}

function liveText({ run: { phase }, atMs }: RunSnapshot): string {
  if (phase === "finished" || phase === "stopped") return `The run is ${phase}`;
  return Date.now() - atMs > oldMs ? `No news since ${new Date(atMs).toLocaleString()}` : "Live";
}

async function ask(take: (next: RunSnapshot, text: string) => void): Promise<void> {
  try {
    const response = await fetch("/api/v1/run");
    if (response.ok) take(await response.json(), `Every ${retryMs / 1_000} s, as all places for viewers are taken`);
  } catch {
    // the text about a silent orchestrator appears by itself
  }
}
