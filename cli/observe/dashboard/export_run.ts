/** The exports of `iota dashboard`: one HTML file, curves as CSV, curves for TensorBoard. */

import { openProgress } from "../../terminal/output/progress.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { Curves, curvesCsv } from "../history/curves.ts";
import { RunHistory } from "../history/run_history.ts";
import { runEarnings } from "../ledger/run_earnings.ts";
import { tensorboardEvents } from "../history/tensorboard.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { plural } from "../../terminal/text/format.ts";
import { oneFile, recordMoments } from "./one_file.ts";

interface WantedFiles {
  readonly page: string | undefined;
  readonly csv: string | undefined;
  readonly tensorboard: string | undefined;
}

interface Written {
  readonly file: string;
  readonly what: string;
}

export const isWanted = ({ page, csv, tensorboard }: WantedFiles): boolean =>
  [page, csv, tensorboard].some((file) => file !== undefined);

export async function exportRun(
  { output }: CommandContext,
  { folder, wanted }: { folder: string; wanted: WantedFiles },
): Promise<number> {
  const curves = new Curves();
  const history = new RunHistory(folder, { onRecord: (entry, view) => curves.take(entry, view) });
  const reading = openProgress(output, "reading the run's log", "bytes");
  const span = await history.refresh((done, total) => reading.at(done, total));
  reading.close();
  const written: Written[] = [];
  const { page, csv, tensorboard } = wanted;
  if (page !== undefined) {
    const making = openProgress(output, "exporting", "moments");
    const recording = await recordMoments(history, span, (done, count) => making.at(done, count));
    making.close();
    if (recording === null) throw new UserError("Cannot export the run: its log is empty");
    await write(page, await oneFile({ ...recording, earnings: await runEarnings(folder) }));
    written.push({ file: page, what: `${plural(recording.changes.length + 1, "moment")}, for any browser` });
  }
  await history.close();
  const { rows } = curves;
  if (csv !== undefined) {
    await write(csv, curvesCsv(rows));
    written.push({ file: csv, what: plural(rows.length, "step") });
  }
  if (tensorboard !== undefined) {
    const seconds = Math.floor((rows[0]?.at_ms ?? 0) / 1_000);
    const file = `${tensorboard}/events.out.tfevents.${seconds}.iota`; // replaces that of the same run
    await attempting(
      { action: "make the folder", value: tensorboard },
      () => Deno.mkdir(tensorboard, { recursive: true }),
    );
    await write(file, tensorboardEvents(rows));
    written.push({ file, what: `${plural(rows.length, "step")}, for TensorBoard` });
  }
  const { missing, damaged } = span;
  output.answer(
    {
      files: written.map(({ file }) => file),
      records: span.last - span.first + 1,
      steps: rows.length,
      missing,
      damaged,
    },
    written.map(({ file, what }) => `Wrote ${file}: ${what}`).join("\n"),
  );
  return 0;
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  await attempting({ action: "write the file", value: path, creates: true }, () => Deno.writeFile(path, bytes));
}
