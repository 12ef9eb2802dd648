/** The ticket key derives from the hotkey, so that tickets survive a restart. */

import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { TicketBox } from "../../../net/auth/ticket.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";

export function hubTickets(signer: HotkeyPair, run: string): TicketBox {
  return new TicketBox({
    key: signer.deriveKey("tickets of a hub"),
    run,
    hub: signer.address,
    ticketMs: defaultNetLimits.ticketMs,
    timers: systemTimers,
    random: systemRandom,
  });
}
