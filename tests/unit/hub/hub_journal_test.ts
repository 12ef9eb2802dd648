/** The orchestrator's journal when a batch is offered again because its snapshot found no room. */

import { assertEquals, assertThrows } from "@std/assert";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { openOrchestrator } from "../../../core/orchestrator/state.ts";
import { JournalError } from "../../../cli/files/journal_error.ts";
import { HubJournal } from "../../support/hub_journal.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const identity = { run: "local", program: "test", config: "test" };

Deno.test("Orchestrator journal: a batch whose snapshot finds no room is in the file once, however often it is offered", () =>
  withMemoryFolder((folder) => {
    const config = tinyConfig();
    const layersOfStages = splitLayers(config);
    const stages = stageSpecs(config, layersOfStages);
    const stageFloats = stages.map((spec) => parameterTable(spec).length);
    const state = openOrchestrator({
      config,
      stages,
      layersOfStages,
      stageFloats,
      secret: new Uint8Array(32),
      nowMs: 0,
    });
    const options = { path: `${folder}/journal.db`, identity, maxBytes: 600_000 };
    const { journal } = HubJournal.open(options);
    journal.begin(state, 0);
    const batch = Array.from({ length: 4096 }, (_, i) => ({ nowMs: i, event: { type: "tick" as const } }));
    const large = { ...state, filler: new Uint8Array(1_000_000) }; // a snapshot of it does not fit
    for (let offered = 0; offered < 3; offered++) {
      const error = assertThrows(() => journal.commit(batch, large), JournalError);
      assertEquals(error.code, "tooLarge");
    }
    journal.close();
    const { journal: again, recovered } = HubJournal.open(options);
    assertEquals([recovered?.events, recovered?.nowMs, recovered?.cut], [4096, 4095, null]);
    again.close();
  }));
