/**
 * A hotkey's weight duty on disk, so that a restarted validator resumes and sends nothing twice.
 *
 * Only this user can read it, because it holds the salts of open commits. Scores lose their round when read, because
 * the run may be another one. An unreadable file is put aside; a failed write is a warning and is retried.
 */

import { assert } from "../../../core/assert.ts";
import { type DutyOptions, type DutyState, openDuty, type Passage } from "../../../chain/duty/duty.ts";
import { dropPartial, partialName, removeStalePartials } from "../../files/disk.ts";

interface DutyFolderOptions {
  readonly folder: string;
  readonly genesisHash: string;
  readonly warn: (text: string) => void;
}

const format = "iota-duty-1";

export class DutyFolder {
  readonly #options: DutyFolderOptions;
  #isFailing = false;

  constructor(options: DutyFolderOptions) {
    this.#options = options;
  }

  load(options: DutyOptions): { state: DutyState; isSaved: boolean } {
    const fresh = { state: openDuty(options), isSaved: false };
    const path = this.#path(options);
    try {
      const saved: unknown = JSON.parse(Deno.readTextFileSync(path));
      if (!isSaved(saved, fresh.state)) return this.#putAside(path, "it has another format"), fresh;
      const scores = saved.state.scores === null ? null : { ...saved.state.scores, round: -1 };
      const state: DutyState = { ...fresh.state, ...saved.state, options, scores, landedScoresRound: -1 };
      return { state: { ...state, passages: state.passages.map(withForkFields) }, isSaved: true };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return fresh;
      if (error instanceof SyntaxError) return this.#putAside(path, error.message), fresh;
      this.#warn(`The state of the weights could not be read: ${textOf(error)}`);
      return fresh;
    }
  }

  save(state: DutyState): void {
    const { options, ...rest } = state;
    const path = this.#path(options);
    const { folder } = this.#options;
    const partial = partialName(path); // two validators may share a hotkey
    try {
      Deno.mkdirSync(folder, { recursive: true });
      const bytes = new TextEncoder().encode(JSON.stringify({ format, state: rest }));
      using file = Deno.openSync(partial, { create: true, write: true, truncate: true, mode: 0o600 });
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      file.syncDataSync();
      Deno.renameSync(partial, path);
      removeStalePartials(folder);
      this.#isFailing = false;
    } catch (error) {
      dropPartial(partial);
      this.#warn(`The state of the weights could not be saved: ${textOf(error)}`);
    }
  }

  #path({ netuid, mechanism, hotkey }: DutyOptions): string {
    const { folder, genesisHash } = this.#options;
    assert(/^0x[0-9a-f]{64}$/.test(genesisHash), `A genesis hash must be 0x and 64 hex digits: ${genesisHash}`);
    return `${folder}/${genesisHash.slice(2, 14)}-${netuid}-${mechanism}-${hotkey}.json`;
  }

  #putAside(path: string, why: string): void {
    this.#warn(`The saved state of the weights is put aside as ${path}.broken: ${why}`);
    try {
      Deno.renameSync(path, `${path}.broken`);
    } catch (error) {
      this.#warn(`It could not be put aside: ${textOf(error)}`);
    }
  }

  #warn(text: string): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.warn(text);
  }
}

const textOf = (error: unknown): string => error instanceof Error ? error.message : String(error);

/** An older version's row has no fields for forks: it counts as landed for good. */
const withForkFields = (saved: Passage): Passage => ({ ...{ nextFiledBlock: 0, revealedBlock: 0 }, ...saved });

interface SavedDuty {
  readonly state: Omit<DutyState, "options">;
}

/**
 * Every field must have its initial value's type; a null field may have any. Missing fields, as from older versions,
 * get their initial value.
 */
function isSaved(saved: unknown, fresh: DutyState): saved is SavedDuty {
  if (!isRecord(saved) || saved["format"] !== format || !isRecord(saved["state"])) return false;
  const state = saved["state"];
  return Object.entries(fresh).every(([name, value]) =>
    name === "options" || !Object.hasOwn(state, name) || value === null || kindOf(state[name]) === kindOf(value)
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> => kindOf(value) === "record";

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return typeof value === "object" ? "record" : typeof value;
}
