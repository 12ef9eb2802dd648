/**
 * A test's clock that knows what a chain client is waiting for: calls without an answer yet, and sessions that stand.
 *
 * Each call and each handshake has a timer of its own, `callDeadlineMs` long, and each session one of `headSilenceMs`. So the timers
 * tell when nothing moves any more, and a test awaits that instead of sleeping.
 */

import type { Cancel } from "../../../chain/subtensor/connection/timers.ts";
import { SwiftTimers } from "./chain_fault_world.ts";

export interface QuietTimersOptions {
  readonly callDeadlineMs: number; // no other wait of the client may be as long as one of these two
  readonly headSilenceMs: number;
  readonly onChange: () => void;
}

export class QuietTimers extends SwiftTimers {
  callsUnderWay = 0;
  sessions = 0;

  constructor(readonly options: QuietTimersOptions) {
    super();
  }

  override after(delayMs: number, callback: () => void): Cancel {
    const { callDeadlineMs, headSilenceMs } = this.options;
    if (delayMs !== callDeadlineMs && delayMs !== headSilenceMs) return super.after(delayMs, callback);
    const count = (change: number) => {
      if (delayMs === callDeadlineMs) this.callsUnderWay += change;
      else this.sessions += change;
      this.options.onChange();
    };
    let isOpen = true;
    const end = () => {
      if (isOpen) count(-1);
      isOpen = false;
    };
    count(1);
    const cancel = super.after(delayMs, () => {
      end();
      callback();
    });
    return () => {
      end();
      cancel();
    };
  }
}
