/** What every transport promises; run by transport_loopback_test.ts and transport_websocket_test.ts. */

import { sessionCases, sizeCases, slowReaderCases } from "./transport_bound_cases.ts";
import { breakCases, damageCases, deliveryCases, returnCases } from "./transport_delivery_cases.ts";
import { helloCases, oldHelloCases } from "./transport_hello_cases.ts";
import { guessedTicketCases, ticketCases } from "./transport_ticket_cases.ts";
import { type OpenMedium, TransportWorld, type WorldOptions } from "./transport_world.ts";

export function transportSuite(name: string, open: OpenMedium): void {
  function check(behaviour: string, body: (world: TransportWorld) => Promise<void>, options: WorldOptions = {}): void {
    Deno.test(`Transport over ${name}: ${behaviour}`, async () => {
      const world = new TransportWorld(open, options);
      await world.start();
      try {
        await body(world);
      } finally {
        await world.stop();
      }
    });
  }
  for (const cases of [deliveryCases, breakCases, damageCases, returnCases, sessionCases]) cases(check);
  for (const cases of [helloCases, oldHelloCases, ticketCases, guessedTicketCases]) cases(check);
  for (const cases of [sizeCases, slowReaderCases]) cases(check);
}
