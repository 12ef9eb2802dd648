/** The thread that writes a journal (journal_writer.ts) and starts the one that replays it. */

import type { History } from "./journal.ts";
import {
  type FromJournal,
  packEntries,
  type ReplayAnswer,
  type ReplayRequest,
  type ToJournal,
} from "./journal_messages.ts";
import { JournalWriter } from "./journal_writer.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ToJournal>) => void;
  postMessage(message: FromJournal): void;
};

const writer = new JournalWriter({ send: (message) => scope.postMessage(message), compact });

scope.onmessage = ({ data }) => writer.receive(data);

async function compact({ snapshot, entries }: History, signal: AbortSignal): Promise<Uint8Array> {
  const worker = new Worker(workerUrl(), { type: "module", name: "replay", deno: { permissions: "none" } });
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  worker.onmessage = ({ data }: MessageEvent<ReplayAnswer>) => {
    if ("state" in data) resolve(data.state);
    else reject(new Error(data.problem));
  };
  worker.onerror = (event) => {
    event.preventDefault(); // otherwise an error in the worker ends this thread
    reject(new Error(event.message));
  };
  signal.addEventListener("abort", () => reject(new Error("the journal was closed")));
  try {
    worker.postMessage({ snapshot, entries: packEntries(entries) } satisfies ReplayRequest);
    return await promise;
  } finally {
    worker.terminate();
  }
}

/** A bundle is JavaScript. */
function workerUrl(): URL {
  return import.meta.url.endsWith(".js")
    ? new URL("./replay_worker.js", import.meta.url)
    : new URL("./replay_worker.ts", import.meta.url);
}
