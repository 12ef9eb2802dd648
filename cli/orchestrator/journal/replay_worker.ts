/** The thread that replays a history once, for a snapshot. */

import { type ReplayAnswer, type ReplayRequest, unpackEntries } from "./journal_messages.ts";
import { replay } from "./hub_journal.ts";
import { snapshotBytes } from "./state_bytes.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ReplayRequest>) => void;
  postMessage(message: ReplayAnswer, transfer: Transferable[]): void;
};

scope.onmessage = ({ data: { snapshot, entries } }) => {
  try {
    const state = snapshotBytes(replay({ snapshot, entries: unpackEntries(entries) }));
    scope.postMessage({ state }, [state.buffer]);
  } catch (error) {
    scope.postMessage({ problem: error instanceof Error ? error.message : String(error) }, []);
  }
};
