/** What every transport promises; run by transport_loopback_test.ts and transport_websocket_test.ts. */

import { sessionCases, sizeCases, slowReaderCases } from "./transport_bound_cases.ts";
import { breakCases, deliveryCases, returnCases } from "./transport_delivery_cases.ts";
import { helloCases } from "./transport_hello_cases.ts";
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
  for (const cases of [deliveryCases, breakCases, returnCases, sessionCases, helloCases, sizeCases, slowReaderCases]) {
    cases(check);
  }
}
