/** Opening a run's journal after any damage to its files: the whole run, a prefix of it with a warning, or put aside. */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { HubJournal } from "../../support/hub_journal.ts";
import { type OpenJournal, openRunJournal, type Progress } from "../../../cli/orchestrator/run/recover_run.ts";
import { JournalError } from "../../../cli/files/journal_error.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { exists } from "../../../cli/files/run_folder.ts";
import { nodeId } from "../../../core/ids.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import { openOrchestrator } from "../../../core/orchestrator/state.ts";
import { keyOf, nextBelow, openStream } from "../../../core/prng.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";
import { cases } from "../../support/whole.ts";

const config = tinyConfig({});
const connections = 300;

async function open(
  folder: string,
  hasBegun = true,
  checkpoint: Progress | null = { round: 0, step: 0 },
  open: OpenJournal = HubJournal.open,
) {
  const warnings: string[] = [];
  const warn = (text: string) => warnings.push(text);
  const options = { folder, runId: "demo", config, hasBegun, checkpoint, onReplayed: () => {}, warn, open };
  return { ...await openRunJournal(options), warnings };
}

function newState() {
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const stageFloats = stages.map((spec) => parameterTable(spec).length);
  return openOrchestrator({ config, stages, layersOfStages, stageFloats, secret: new Uint8Array(32), nowMs: 1 });
}

/** A life of some events, as a killed process leaves it; its log is not yet part of its file where `isCheckpointed` is false. */
async function live(folder: string, isCheckpointed: boolean): Promise<void> {
  const { journal } = await open(folder, false);
  const state = newState();
  journal.begin(state, 1);
  for (let i = 0; i < connections; i++) {
    const event = { type: "nodeConnected", node: nodeId(`node-${i}`), role: "miner", resumed: false } as const;
    orchestrator.step(state, event, i + 2);
    journal.commit([{ nowMs: i + 2, event }], state);
  }
  const copies = isCheckpointed ? [] : await Promise.all(
    ["", "-wal"].map(async (suffix) => ({ suffix, bytes: await Deno.readFile(`${folder}/journal.db${suffix}`) })),
  );
  journal.close();
  for (const { suffix, bytes } of copies) await Deno.writeFile(`${folder}/journal.db${suffix}`, bytes);
}

Deno.test("Recovery: an untouched journal gives back the run, and a folder without one begins a new one", async () => {
  await withMemoryFolder(async (folder) => {
    await live(folder, false);
    const { journal, recovered, warnings } = await open(folder);
    assertEquals([recovered?.events, recovered?.nowMs, warnings], [connections, connections + 1, []]);
    journal.close();
  });
  await withMemoryFolder(async (folder) => {
    const { journal, recovered, warnings } = await open(folder);
    assertEquals([recovered, warnings], [null, []]);
    journal.close();
  });
});

Deno.test("Recovery: an empty journal of a run that had begun is put aside with a sentence", async () => {
  const empties = [
    (path: string) => Deno.writeFile(path, new Uint8Array()),
    (path: string) => Deno.truncate(path, 0),
    (path: string) => Deno.remove(path), // its log is left
    async (path: string) => {
      await Deno.remove(path);
      await Deno.remove(`${path}-wal`);
      const identity = { run: "demo", program: "0", config: "0" };
      HubJournal.open({ path, identity, maxBytes: 2 ** 26 }).journal.close(); // begun by a process that died at once
    },
  ];
  for (const empty of empties) {
    await withMemoryFolder(async (folder) => {
      await live(folder, false);
      await empty(`${folder}/journal.db`);
      const { journal, recovered, warnings } = await open(folder);
      assertEquals([recovered, warnings.length], [null, 1]);
      assertStringIncludes(warnings[0]!, "the run resumes from the checkpoint of round 0, step 0");
      const kept = ["", "-wal"].map((suffix) => exists(`${folder}/put-aside-1-journal.db${suffix}`));
      assert((await Promise.all(kept)).includes(true));
      journal.begin(newState(), 1);
      journal.close();
      assertEquals((await open(folder)).warnings, []);
    });
  }
});

Deno.test("Recovery: a folder without any journal whose checkpoints are all damaged does not begin at step 0", async () => {
  await withMemoryFolder(async (folder) => {
    await Deno.mkdir(`${folder}/checkpoints/round-000004`, { recursive: true });
    const error = await assertRejects(() => open(folder, true, null), UserError);
    assertStringIncludes(error.message, "there is no whole checkpoint to resume from");
    assertStringIncludes(error.next!, "nothing was changed");
  });
});

Deno.test("Recovery: a damaged epoch costs nothing, as the journal's file keeps the number too", async () => {
  for (const text of ["", "banana", "-3", "99999999999999999999", "\0".repeat(4096)]) {
    await withMemoryFolder(async (folder) => {
      await live(folder, false);
      await Deno.writeTextFile(`${folder}/journal.db.epoch`, text);
      const { journal, recovered, warnings } = await open(folder);
      journal.close();
      assertEquals([recovered?.events, warnings], [connections, []], text);
      assertEquals(await Deno.readTextFile(`${folder}/journal.db.epoch`), "2\n");
    });
  }
});

Deno.test("Recovery: a journal that another process takes over while it is opened stays that process's", async () => {
  await withMemoryFolder(async (folder) => {
    await live(folder, false);
    const before = await Deno.readFile(`${folder}/journal.db`);
    const takenOver = () => {
      throw new JournalError("fenced", "Cannot write the journal: another process has taken over the run");
    };
    const error = await assertRejects(() => open(folder, true, { round: 0, step: 0 }, takenOver), UserError);
    assertStringIncludes(error.next!, "the run continues in the other one");
    assertEquals(await Deno.readFile(`${folder}/journal.db`), before);
    assert(!await exists(`${folder}/put-aside-1-journal.db`));
  });
});

Deno.test("Recovery: flipped, cut, zeroed and deleted bytes never lose anything without a sentence", async () => {
  let whole = 0;
  let said = 0;
  for (let seed = 1; seed <= cases(80); seed++) {
    await withMemoryFolder(async (folder) => {
      const stream = openStream(keyOf(seed, "journal files"));
      await live(folder, true);
      const path = `${folder}/journal.db`;
      const bytes = await Deno.readFile(path);
      const at = nextBelow(stream, bytes.length);
      const kind = seed % 4;
      if (kind === 0) bytes[at]! ^= 1 + nextBelow(stream, 255);
      if (kind === 1) bytes.fill(0, at, at + 1 + nextBelow(stream, 5000));
      const cut = kind === 2 ? bytes.subarray(0, at) : bytes;
      const end = Math.min(bytes.length, at + 1 + nextBelow(stream, 5000));
      await Deno.writeFile(
        path,
        kind === 3 ? Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(end)]) : cut,
      );
      const { journal, recovered, warnings } = await open(folder);
      journal.close();
      if (warnings.length > 0) said += 1;
      else {
        whole += 1; // the damage hit unused bytes
        assertEquals([recovered?.events, recovered?.nowMs], [connections, connections + 1], `seed ${seed}`);
      }
    });
  }
  assert(said >= cases(40), `${said} said, ${whole} whole`);
});
