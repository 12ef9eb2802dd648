/** Resolves a command's declared rights into the paths and programs of one command line. */

import { basename, dirname, resolve } from "node:path";
import type { OptionValues } from "./command.ts";
import { type Environment, tuningFolder, tuningName, walletFolders } from "../program/paths.ts";
import type { HeldRights, Place, Rights } from "../rights/rights.ts";

const nothing: HeldRights = { read: [], write: [], net: [], run: [], env: [], sys: [], needsSensors: false };
const loopback = ["127.0.0.1", "localhost", "[::1]"];

interface RightsQuestion {
  readonly rights: Rights | undefined;
  readonly options: OptionValues;
  readonly declares: (name: string) => boolean;
  readonly environment: Environment;
  readonly dataFolder: () => string;
  readonly corpora: readonly string[]; // texts and datasets of runs
  readonly runs: readonly string[];
  readonly programFolders: readonly string[];
  readonly executable: string;
}

export function resolveRights(question: RightsQuestion): HeldRights {
  const { rights, options, declares, executable } = question;
  if (rights === undefined) return nothing;
  const { read = [], write = [], net, run = [], env = [], sys = [], sensorsFor = [] } = rights;
  const paths = (places: readonly Place[]) => [...new Set(places.flatMap((place) => pathsOf(place, question)))];
  const isGiven = (name: string) => declares(name) && options.given(name);
  return {
    read: read === "any" ? "any" : paths([...read, "program", "--config"]),
    write: write === "any" ? "any" : paths(write),
    net: net === "any" ? "any" : net === "loopback" ? loopback : [],
    run: run === "any" ? "any" : run.map((program) => program === "self" ? executable : program),
    env,
    sys,
    needsSensors: sensorsFor.some(isGiven),
  };
}

function pathsOf(place: Place, question: RightsQuestion): string[] {
  const { options, declares, environment, dataFolder, programFolders, corpora } = question;
  switch (place) {
    case "data":
      return [resolve(dataFolder())];
    case "corpus":
      return corpora.map((path) => resolve(path));
    case "tuning": {
      const folder = tuningFolder(environment);
      return folder === null ? [] : [resolve(folder, tuningName)];
    }
    case "runs":
      return question.runs.map((folder) => resolve(folder));
    case "program":
      return [...programFolders];
    case "hotkeys": {
      const { wallet, "wallet-path": explicit } = textsOf(["wallet", "wallet-path"], question);
      const folders = walletFolders(environment, { explicit, data: options.text("data") });
      const paths = folders.map((folder) => resolve(folder, wallet ?? "default"));
      return paths.flatMap((path) => [`${path}/hotkeys`, `${path}/coldkeypub.txt`]); // the second is public
    }
  }
  const name = place === "log" ? "log-file" : place.slice(2);
  const path = declares(name) ? options.text(name) : undefined;
  if (path === undefined) return [];
  const full = place === "log" ? Array.from({ length: options.number("log-keep") ?? 0 }, (_, i) => `.${i + 1}`) : [];
  return [...["", ...full].map((suffix) => `${resolve(path)}${suffix}`), ...runOf(name, resolve(path))];
}

/** A checkpoint's tokenizer and log are in its run. */
function runOf(option: string, path: string): string[] {
  const parent = dirname(path);
  return modelOptions.includes(option) && basename(parent) === "checkpoints" ? [dirname(parent)] : [];
}

const modelOptions = ["from", "model", "run"];

function textsOf(names: readonly string[], { options, declares }: RightsQuestion): Record<string, string | undefined> {
  return Object.fromEntries(names.map((name) => [name, declares(name) ? options.text(name) : undefined]));
}
