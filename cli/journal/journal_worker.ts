/** The thread that writes a journal: see journal_writer.ts. */

import type { FromJournal, ToJournal } from "./journal_messages.ts";
import { JournalWriter } from "./journal_writer.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<ToJournal>) => void;
  postMessage(message: FromJournal): void;
};

const writer = new JournalWriter({ send: (message) => scope.postMessage(message) });

scope.onmessage = ({ data }) => writer.receive(data);
