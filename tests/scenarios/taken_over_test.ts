/** Another process takes over the run of a living orchestrator: it stops with a sentence, and performs and writes nothing more. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { epochPath } from "../../cli/orchestrator/journal/journal_epoch.ts";
import { JournalError } from "../../cli/files/journal_error.ts";
import { userError } from "../../cli/orchestrator/run/recover_run.ts";
import { openJournal } from "../support/swarm/full_journal.ts";
import { World } from "../lab/world/world.ts";
import { withScratchFolder } from "../support/scratch_folder.ts";
import { tinyConfig } from "../support/tiny_model.ts";

const config = tinyConfig({
  model: { width: 32, contextLength: 8 },
  train: { steps: 4, stepsPerRound: 2, microbatchesPerStep: 2 },
  swarm: { replicas: 1, validators: 0 },
});

Deno.test("Taken over: the orchestrator stops at its next event, and nothing it stepped since is performed or written", () =>
  withScratchFolder(async (folder) => {
    const path = `${folder}/journal.db`;
    const { journal } = openJournal(folder);
    let recordsThen = Infinity;
    let logThen: Uint8Array | null = null;
    const swarm: World = new World({
      config,
      hub: { journal },
      watch: (record) => {
        if (record.type !== "stepClosed" || logThen !== null) return;
        Deno.writeTextFileSync(epochPath(path), "2\n");
        logThen = Deno.readFileSync(`${path}-wal`);
        queueMicrotask(() => recordsThen = swarm.records.all.length); // the batch of this record is performed to its end
      },
    });
    await swarm.startAll();
    const error = await swarm.run().then(() => null, (error) => error);
    assert(error instanceof JournalError && error.code === "fenced", String(error));
    await swarm.quiet();
    assertEquals(swarm.records.all.length, recordsThen);
    assertEquals(await Deno.readFile(`${path}-wal`), logThen);
    assertStringIncludes(error.message, "its epoch is 2, not 1");
    assertStringIncludes(userError(error, folder).next ?? "", "the run continues in the other one");
    journal.close();
  }));
