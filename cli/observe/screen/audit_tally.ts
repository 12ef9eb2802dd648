/** Passed audits of a round in one line. Failed audits have lines of their own. */

import type { RecordOf } from "../../../core/view/view_record.ts";
import { decimal, plural } from "../../terminal/text/format.ts";

export type PassedAudit = Pick<RecordOf<"verdict">, "miner" | "innovationError" | "gradient">;

export class AuditTally {
  #count = 0;
  #largestError = 0;
  readonly #miners = new Set<string>();

  add({ miner, innovationError, gradient }: PassedAudit): void {
    this.#count += 1;
    this.#miners.add(miner);
    if (gradient === undefined) this.#largestError = Math.max(this.#largestError, innovationError);
  }

  /** Null: there was none since the last call. */
  take(): string | null {
    if (this.#count === 0) return null;
    const text = `${plural(this.#count, "audit")} of ${plural(this.#miners.size, "miner")} passed, innovation error ${
      this.#largestError === 0 ? "0" : `at most ${decimal(this.#largestError)}`
    }`;
    this.#count = 0;
    this.#largestError = 0;
    this.#miners.clear();
    return text;
  }
}
