/** What every transport promises; run by transport_loopback_test.ts and transport_websocket_test.ts. */

import { rivalCases, sessionCases, sizeCases, slowReaderCases } from "./transport_bound_cases.ts";
import { breakCases, damageCases, deliveryCases, returnCases } from "./transport_delivery_cases.ts";
import { clockCases } from "./transport_clock_cases.ts";
import { helloCases, oldHelloCases } from "./transport_hello_cases.ts";
import { guessedTicketCases, ticketCases } from "./transport_ticket_cases.ts";
import { type OpenMedium, TransportWorld, type WorldOptions } from "./transport_world.ts";

const everyCase = [
  ...[deliveryCases, breakCases, damageCases, returnCases, sessionCases, rivalCases, clockCases],
  ...[helloCases, oldHelloCases, ticketCases, guessedTicketCases, sizeCases, slowReaderCases],
];

/** `groups`: those that say something of this medium. */
export function transportSuite(name: string, open: OpenMedium, groups = everyCase): void {
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
  for (const cases of groups) cases(check);
}
