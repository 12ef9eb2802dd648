/** Starts of an orchestrator on a run's folder: nothing is written behind another's journal, and a lost run is not a silent new one. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import type { Stream } from "../../../cli/rights/host.ts";
import { main } from "../../../cli/command_line.ts";
import { lostText } from "../../../cli/orchestrator/run/run_facts.ts";
import { writeSmallCorpus } from "../../support/process/small_corpus.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

/** Stopped in order as soon as it listens. */
class BriefHost extends FakeHost {
  override write(stream: Stream, text: string): void {
    super.write(stream, text);
    if (text.includes('"type":"listening"')) this.interrupt("SIGTERM");
  }
}

async function start(words: readonly string[]) {
  const host = new BriefHost();
  const code = await main(["orchestrate", ...words, "--port", "0", "--json"], host);
  const lines = host.written.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  const warnings = lines.flatMap(({ type, text }) => type === "warning" ? [String(text)] : []);
  return { code, stderr: host.written.stderr, warnings, summary: lines.at(-1) };
}

/** A run that has been begun and has made no step. */
async function begin(folder: string): Promise<string> {
  const corpus = await writeSmallCorpus(folder);
  const run = `${folder}/run`;
  const { code } = await start([..."--size toy --steps 5 --stages 1 --data".split(" "), run, "--corpus", corpus]);
  assertEquals(code, 0);
  return run;
}

Deno.test("Start: a second one whose lock was removed is refused by the journal, and has written nothing", () =>
  withScratchFolder(async (folder) => {
    const run = await begin(folder);
    await Deno.remove(`${run}/run.lock`);
    const journal = new DatabaseSync(`${run}/journal.db`);
    journal.exec("pragma locking_mode = exclusive; begin immediate");
    const logs = ["records.jsonl", "ledger.jsonl", "run.json", "run.toml"];
    const texts = () => Promise.all(logs.map((name) => Deno.readTextFile(`${run}/${name}`)));
    const before = await texts();
    const { code, stderr } = await start(["--data", run]);
    journal.close();
    assertEquals(code, 1);
    assertStringIncludes(stderr, "another process holds it");
    assertEquals(await texts(), before);
  }));

async function removeAll(run: string, isGone: (name: string) => boolean): Promise<void> {
  for (const { name } of Array.from(Deno.readDirSync(run))) {
    if (isGone(name)) await Deno.remove(`${run}/${name}`, { recursive: true });
  }
}

Deno.test("Start: a run of which only settings or a summary are left does not begin at step 0 in silence", () =>
  withScratchFolder(async (folder) => {
    const run = await begin(folder);
    await removeAll(run, (name) => !["run.json", "run.toml", "dataset", "wallets"].includes(name));
    const bare = await start(["--data", run]);
    assertMatch(
      bare.warnings[0]!,
      /has a run's settings, but no journal, .* it begins at step 0; if it had trained before, stop,/,
    );
    await Deno.writeTextFile(`${run}/summary.json`, JSON.stringify({ finished: true, steps: 5 }));
    await removeAll(run, (name) => name.startsWith("journal.db") || name === "checkpoints");
    const { code, warnings, summary } = await start(["--data", run]);
    assertMatch(
      warnings[0]!,
      /^The run had reached step 5, but '.*\/run' has neither its journal nor a checkpoint: it begins again/,
    );
    assertEquals([code, summary.finished, summary.steps], [0, false, 0]);
  }));

Deno.test("Start: what is lost is told by whatever knows most of it, and nothing where nothing is lost", () => {
  const folder = { path: "run", isResumed: true };
  const text = (told: { recordedStep?: number; toldStep?: number; step?: number; hadJournal?: boolean }) => {
    const { recordedStep = null, toldStep = null, step = 0, hadJournal = false } = told;
    return lostText({ recordedStep, toldStep, begun: { step }, hadJournal, folder });
  };
  assertStringIncludes(text({ recordedStep: 10 })!, "reached step 10, but 'run' has neither");
  assertStringIncludes(
    text({ recordedStep: 10, toldStep: 12, step: 8 })!,
    "reached step 12, but 'run/journal.db' is gone",
  );
  assertEquals(text({ recordedStep: 10, toldStep: 10, step: 10 }), null, "a finished run is given more steps");
  assertEquals(text({ recordedStep: 0 }), null, "it had begun, and made no step");
  assertEquals(text({ recordedStep: 10, hadJournal: true }), null);
  assertEquals(text({ step: 8 }), null, "its checkpoint is all that anybody knows");
  assertEquals(
    lostText({
      ...{ recordedStep: null, toldStep: null, hadJournal: false },
      begun: { step: 0 },
      folder: { ...folder, isResumed: false },
    }),
    null,
  );
});
