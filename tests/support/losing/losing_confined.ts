/** The confined thread of a role, whose compute workers lose their device (losing_iota.ts). */

import "./losing_from_address.ts"; // before the role opens one
import "../../../cli/confined_worker.ts";
