/** Models compared with what a run's log says the merge agreed on. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { latestCheckpoint } from "../../../cli/model/checkpoint/checkpoint.ts";
import { provenanceOf } from "../../../cli/model/export/provenance.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import type { VerifiedLedger } from "../../../cli/observe/ledger/verify_ledger.ts";
import { MergesSeen, type ModelVerdict, verifyModel } from "../../../cli/observe/ledger/verify_model.ts";
import { type ExportedKind, writeExported } from "../../support/exported_models.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";

interface Case {
  readonly type?: "f32" | "bf16";
  readonly found?: Partial<VerifiedLedger>;
  readonly change?: (model: string, merges: MergesSeen) => void;
}

/** The verdict on a run's export, by a log that holds the merge of its checkpoint. */
async function verdictOn(
  kind: ExportedKind,
  { type = "f32", found = {}, change = () => {} }: Case = {},
): Promise<ModelVerdict> {
  let verdict: ModelVerdict | null = null;
  await withMemoryFolder(async (folder) => {
    const { run } = await writeExported(`${folder}/first`, kind);
    const provenance = provenanceOf(await openModel(run, () => {}), { type, log: null });
    const { model } = await writeExported(`${folder}/second`, kind, { type, provenance });
    const { manifest } = (await latestCheckpoint(`${run}/checkpoints`, (text) => assert(false, text)))!;
    const merges = new MergesSeen();
    const { round, parameterHashes: parameters } = manifest;
    merges.take({ type: "merged", round, parameters, draws: "" }, 5);
    change(model, merges);
    verdict = await verifyModel(model, { found: { run: "toy-1", signedLine: 9, ...found } as VerifiedLedger, merges });
  });
  return verdict!;
}

Deno.test("verifyModel: the export of a merge is recognised, whatever its boundaries", async () => {
  for (const kind of ["plain", "q5block-side", "mixed"] as const) {
    const { isAgreed, round, isNewest, text } = await verdictOn(kind);
    assertEquals([isAgreed, round, isNewest], [true, 1, true], text);
  }
});

Deno.test("verifyModel: a later merge of the log is said", async () => {
  const later = (_: string, merges: MergesSeen) =>
    merges.take({ type: "merged", round: 2, parameters: [], draws: "" }, 8);
  const { isAgreed, isNewest, text } = await verdictOn("plain", { change: later });
  assertEquals([isAgreed, isNewest], [true, false]);
  assertMatch(text, /an earlier one: the newest is for round 2$/);
});

Deno.test("verifyModel: one bit of one tensor is found, with its stage", async () => {
  for (const kind of ["plain", "mixed"] as const) {
    const { isAgreed, differingStages } = await verdictOn(kind, {
      change(model) {
        const bytes = Deno.readFileSync(`${model}/model.safetensors`);
        bytes[bytes.length - 3]! ^= 1;
        Deno.writeFileSync(`${model}/model.safetensors`, bytes);
      },
    });
    assertEquals([isAgreed, differingStages.length], [false, 1]);
  }
});

Deno.test("verifyModel: another run, rounded numbers, an unsigned or missing merge prove nothing", async () => {
  const cases: [Case, RegExp][] = [
    [{ found: { run: "toy-2" } }, /of run toy-1, and the log of run toy-2/],
    [{ type: "bf16" }, /rounded to bf16/],
    [{ found: { signedLine: 4 } }, /is not signed yet/],
    [{ change: (_, merges) => merges.byRound.clear() }, /no merge for round 1/],
    [
      { change: (_, merges) => merges.take({ type: "merged", round: 1, parameters: ["a"], draws: "" }, 6) },
      /layers are not/,
    ],
  ];
  for (const [each, says] of cases) {
    const { isAgreed, text } = await verdictOn("plain", each);
    assertEquals(isAgreed, false);
    assertMatch(text, says);
  }
});
