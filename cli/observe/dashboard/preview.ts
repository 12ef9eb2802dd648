/** The preview picture of links to the page, a PNG with a font of its own, because no browser is at hand. */

import { crc32, deflateSync } from "node:zlib";
import { rangeOf } from "./page/parts/axis.ts";
import { trainPoints } from "./page/curves/loss_chart.ts";
import type { PublicRun } from "../public/public_shape.ts";

type Shown = Pick<PublicRun, "losses" | "heldOut" | "step" | "steps" | "size">;

const width = 1_200; // 1.91 to 1, as networks ask
const height = 630;
const palette = [0x10_14_18, 0x34_3c_45, 0xa3_ad_b8, 0x56_b4_e9, 0xe6_9f_00, 0xff_ff_ff]; // the page's dark colours
const [back, grid, dim, train, heldOut, white] = [0, 1, 2, 3, 4, 5] as const;
const plot = { left: 70, right: 1_130, top: 220, bottom: 570 };

export function previewPng(run: Shown): Uint8Array<ArrayBuffer> {
  const pixels = new Uint8Array(width * height).fill(back);
  write(pixels, { text: "iota", x: 70, y: 60, size: 12, colour: train });
  write(pixels, { text: run.size, x: 400, y: 102, size: 6, colour: dim });
  const loss = run.losses.last === null ? "" : `loss ${run.losses.last.toFixed(3)}`;
  write(pixels, { text: loss, x: 700, y: 60, size: 6, colour: white });
  write(pixels, { text: `step ${run.step} of ${run.steps}`, x: 700, y: 124, size: 4, colour: dim });
  for (let i = 0; i <= 4; i++) {
    fill(pixels, { x: plot.left, y: plot.top + i * 87, width: 1_060, height: 2, colour: grid });
  }
  const trained = trainPoints(run);
  const range = rangeOf([...trained, ...run.heldOut].flatMap(({ loss }) => loss === null ? [] : [loss]));
  if (range !== null) {
    const place = ({ step, loss }: { step: number; loss: number }) => ({
      x: plot.left + (plot.right - plot.left) * Math.max(0, step) / Math.max(1, run.step),
      y: plot.bottom - (plot.bottom - plot.top) * (loss - range.low) / (range.high - range.low),
    });
    const known = (points: readonly { step: number; loss: number | null }[]) =>
      points.flatMap(({ step, loss }) => loss === null ? [] : [place({ step, loss })]);
    line(pixels, { points: known(run.heldOut), colour: heldOut });
    line(pixels, { points: known(trained), colour: train });
  }
  return encoded(pixels);
}

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly colour: number;
}

function fill(pixels: Uint8Array, { x, y, width: wide, height: high, colour }: Rect): void {
  const [left, right] = [Math.max(0, Math.round(x)), Math.min(width, Math.round(x + wide))];
  for (let row = Math.max(0, Math.round(y)); row < Math.min(height, Math.round(y + high)); row++) {
    if (right > left) pixels.fill(colour, row * width + left, row * width + right);
  }
}

const brush = 5; // pixels

function line(
  pixels: Uint8Array,
  { points, colour }: { points: readonly { x: number; y: number }[]; colour: number },
): void {
  points.slice(1).forEach((to, i) => {
    const from = points[i]!;
    const count = Math.max(1, Math.ceil(Math.max(Math.abs(to.x - from.x), Math.abs(to.y - from.y))));
    for (let k = 0; k <= count; k++) {
      const [x, y] = [from.x + (to.x - from.x) * k / count, from.y + (to.y - from.y) * k / count];
      fill(pixels, { x: x - brush / 2, y: y - brush / 2, width: brush, height: brush, colour });
    }
  });
}

/** Five columns of seven bits, the lowest on top; other characters are gaps. */
const font: Readonly<Record<string, readonly number[]>> = {
  ...{ "0": [62, 81, 73, 69, 62], "1": [0, 66, 127, 64, 0], "2": [66, 97, 81, 73, 70], "3": [33, 65, 69, 75, 49] },
  ...{ "4": [24, 20, 18, 127, 16], "5": [39, 69, 69, 69, 57], "6": [60, 74, 73, 73, 48], "7": [1, 113, 9, 5, 3] },
  ...{ "8": [54, 73, 73, 73, 54], "9": [6, 73, 73, 41, 30], ".": [0, 96, 96, 0, 0] },
  ...{ a: [32, 84, 84, 84, 120], b: [127, 72, 68, 68, 56], e: [56, 84, 84, 84, 24], f: [8, 126, 9, 1, 2] },
  ...{ i: [0, 68, 125, 64, 0], l: [0, 65, 127, 64, 0], m: [124, 4, 24, 4, 120], n: [124, 8, 4, 4, 120] },
  ...{ o: [56, 68, 68, 68, 56], p: [124, 20, 20, 20, 8], s: [72, 84, 84, 84, 32], t: [4, 63, 68, 64, 32] },
  ...{ y: [12, 80, 80, 80, 60] },
};

interface Writing {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly colour: number;
}

function write(pixels: Uint8Array, { text, x, y, size, colour }: Writing): void {
  [...text].forEach((character, i) =>
    font[character]?.forEach((bits, column) => {
      for (let row = 0; row < 7; row++) {
        if ((bits >> row & 1) === 0) continue;
        fill(pixels, { x: x + (6 * i + column) * size, y: y + row * size, width: size, height: size, colour });
      }
    })
  );
}

/** One byte a pixel (PNG, third edition, 11.2). */
function encoded(pixels: Uint8Array): Uint8Array<ArrayBuffer> {
  const rows = new Uint8Array((width + 1) * height); // each row begins with its filter: none
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 3); // indexed colours
  const colours = Uint8Array.from(palette.flatMap((colour) => [colour >> 16, colour >> 8 & 255, colour & 255]));
  const parts = [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", new Uint8Array(0)),
  ];
  const png = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  parts.reduce((at, part) => (png.set(part, at), at + part.length), 0);
  return png;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}
