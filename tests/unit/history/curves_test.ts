/** Curves from a record log: CSV and TensorBoard's events, read back by other code than wrote them. */

import { assert, assertEquals } from "@std/assert";
import { type CurveRow, Curves, curvesCsv } from "../../../cli/observe/history/curves.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { crc32c, tensorboardEvents } from "../../../cli/observe/history/tensorboard.ts";
import { emptyView } from "../../../core/view/view.ts";
import { sampleRun } from "../../support/sample_run.ts";
import { recordRun } from "../../support/record_folder.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

async function sampleRows(): Promise<CurveRow[]> {
  const curves = new Curves();
  await withScratchFolder(async (folder) => {
    await recordRun(folder);
    const history = new RunHistory(folder, { onRecord: (entry, view) => curves.take(entry, view) });
    await history.refresh();
    await history.at(5, () => null); // a moment adds no row
    await history.close();
  });
  return curves.rows;
}

Deno.test("Curves: a row for each closed step, with the evaluation that followed it", async () => {
  const rows = await sampleRows();
  assertEquals(rows.map(({ step }) => step), Array.from({ length: 40 }, (_, i) => i + 1));
  assertEquals(rows.flatMap(({ step, held_out_loss_nats: loss }) => loss === null ? [] : [[step, loss]]), [
    ...[[10, 5.7], [20, 5], [30, 4.300000000000001], [40, 3.6000000000000005]],
  ]);
  assertEquals([rows[0]!.miners, rows[39]!.miners], [6, 5]);
});

Deno.test("Curves: CSV has a header, one line a step, and nothing where a number is unknown", async () => {
  const rows = await sampleRows();
  const [head, first, ...rest] = curvesCsv([{ ...rows[0]!, loss_nats: NaN }, ...rows.slice(1)]).split("\r\n");
  assertEquals(
    head,
    "step,at_ms,round,loss_nats,held_out_loss_nats,learning_rate,gradient_norm,tokens,step_ms,miners," +
      "wire_bytes,merge_bytes,parameter_bytes,message_bytes",
  );
  assertEquals(first!.split(",").map((cell) => cell === ""), [
    ...[false, false, false, true, true, false, false, false, false, false, true, true, true, true],
  ]);
  assertEquals([rest.length, rest.at(-1)], [40, ""]);
});

Deno.test("Curves: the bytes of a step are those counted since the step before it", () => {
  const curves = new Curves();
  const view = emptyView();
  const closed = sampleRun(1).find(({ record }) => record.type === "stepClosed")!.record;
  const bytes = { type: "bytesMoved", wires: 5, merge: 0, parameters: 7, control: 1 } as const;
  [bytes, closed, closed].forEach((record, i) => curves.take({ sequence: i + 1, atMs: i, record }, view));
  assertEquals(curves.rows.map(({ wire_bytes, parameter_bytes }) => [wire_bytes, parameter_bytes]), [[5, 7], [
    null,
    null,
  ]]);
});

Deno.test("TensorBoard: the checksum is CRC-32C", () => {
  assertEquals(crc32c(new TextEncoder().encode("123456789")), 0xe3069283); // the catalogue's check value
  assertEquals(crc32c(new Uint8Array(32)), 0x8a9136aa); // RFC 3720, B.4
});

Deno.test("TensorBoard: a file of framed events, whose scalars are the rows", async () => {
  const rows = await sampleRows();
  const bytes = tensorboardEvents(rows);
  const view = new DataView(bytes.buffer);
  const events: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = Number(view.getBigUint64(at, true));
    assertEquals(view.getUint32(at + 8, true), maskedCrc(bytes.subarray(at, at + 8)));
    events.push(bytes.subarray(at + 12, at + 12 + length));
    assertEquals(view.getUint32(at + 12 + length, true), maskedCrc(events.at(-1)!));
    at += length + 16;
  }
  assertEquals(new TextDecoder().decode(events[0]!.subarray(13)), "brain.Event:2");
  const losses = events.slice(1).filter((event) => new TextDecoder().decode(event).includes("iota/loss_nats"));
  assertEquals(losses.length, 40);
  const [last] = losses.slice(-1);
  const scalars = new DataView(last!.buffer, last!.byteOffset, last!.length);
  assertEquals([scalars.getFloat64(1, true), scalars.getUint8(10)], [rows[39]!.at_ms! / 1_000, 40]);
  assert(Math.abs(scalars.getFloat32(last!.length - 4, true) - rows[39]!.loss_nats!) < 1e-6);
  assertEquals(tensorboardEvents([]).length, 16 + events[0]!.length);
});

function maskedCrc(bytes: Uint8Array): number {
  const crc = crc32c(bytes);
  return Number((BigInt((crc >>> 15) | (crc << 17)) + 0xa282ead8n) & 0xffffffffn);
}
