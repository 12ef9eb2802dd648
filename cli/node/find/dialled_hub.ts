/**
 * Dials an orchestrator's first address and, while that stays silent, looks for the address that the chain announces.
 * Only the pinned orchestrator's announcements are followed.
 */

import type { Timers } from "../../../net/timers.ts";
import type { Dial } from "../../../net/links/wire.ts";
import { type HubAddress, hubAddress } from "../../roles/addresses.ts";

interface DialledHubOptions {
  readonly address: HubAddress;
  /** Null: no announcement. Absent: the run was not found on a chain. */
  readonly lookUp: (() => Promise<string | null>) | null;
  readonly timers: Pick<Timers, "steadyMs">;
  readonly onMoved: (socket: string) => void;
  readonly onProblem: (text: string) => void;
}

const vainAttempts = 3; // a restarting orchestrator is back by then
const firstPauseMs = 5_000; // doubled each time, because thousands of nodes may read at once
const longestPauseMs = 60_000;

export class DialledHub {
  readonly #options: DialledHubOptions;
  #address: HubAddress;
  #attempts = 0; // since the last connection
  #lookAtMs = 0;
  #pauseMs = firstPauseMs;
  #isLooking = false;

  constructor(options: DialledHubOptions) {
    this.#options = options;
    this.#address = options.address;
  }

  get socket(): string {
    return this.#address.socket;
  }

  get http(): string {
    return this.#address.http;
  }

  through(dial: Dial): Dial {
    return (_url, handler) => {
      this.#attempts += 1;
      if (this.#attempts > vainAttempts) this.#lookAgain();
      return dial(this.socket, handler);
    };
  }

  connected(): void {
    this.#attempts = 0;
    this.#lookAtMs = 0;
    this.#pauseMs = firstPauseMs;
  }

  /** Not awaited, so that attempts continue. */
  #lookAgain(): void {
    const { lookUp, timers, onMoved, onProblem } = this.#options;
    if (lookUp === null || this.#isLooking || timers.steadyMs() < this.#lookAtMs) return;
    this.#isLooking = true;
    lookUp().then((socket) => {
      if (socket === null || socket === this.socket) return;
      this.#address = hubAddress(socket);
      onMoved(socket);
    }).catch((error) => onProblem(error instanceof Error ? error.message : String(error))).finally(() => {
      this.#isLooking = false;
      this.#lookAtMs = timers.steadyMs() + this.#pauseMs;
      this.#pauseMs = Math.min(longestPauseMs, 2 * this.#pauseMs);
    });
  }
}
