/** The program `iota` with other commands. */

import type { CommandTable, Program } from "../../cli/terminal/command.ts";
import { iota } from "../../cli/command_table.ts";

export const withCommands = (commands: CommandTable): Program => ({ ...iota, commands });
