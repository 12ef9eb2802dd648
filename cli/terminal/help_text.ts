/** Help as text, generated from the command table. */

import { type Command, commonOptions, type HelpTopic, type OptionSpec, type Program } from "./command.ts";
import type { Paint } from "./text/paint.ts";
import { wrapped } from "./text/format.ts";

export interface Page {
  readonly program: Program;
  readonly paint: Paint;
  readonly width: number;
}

const indent = "  ";

export function overviewText(commands: readonly Command[], page: Page): string {
  const { paint, program: { name, about, firstSteps, topics = {} } } = page;
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary]);
  const pages = Object.entries(topics).map(([topic, { summary }]): [string, string] => [`help ${topic}`, summary]);
  return [
    about.replace(name, paint.bold(name)),
    "",
    paint.bold("Usage"),
    `${indent}${name} COMMAND [options]`,
    "",
    paint.bold("Commands"),
    ...columns(rows, page),
    ...(pages.length === 0 ? [] : ["", paint.bold("More help"), ...columns(pages, page)]),
    "",
    paint.bold("Start here"),
    ...columns(firstSteps, page),
  ].join("\n");
}

export function topicText({ about, heading, rows }: HelpTopic, page: Page): string {
  return [...wrapped(about, page.width), "", page.paint.bold(heading), ...columns(rows, page)].join("\n");
}

interface HelpSubject {
  readonly command: Command;
  readonly actions: readonly Command[];
}

export function commandText({ command, actions }: HelpSubject, page: Page): string {
  const { paint } = page;
  const own = command.options;
  return [
    ...titleLines(command, page),
    ...(command.about === undefined ? [] : ["", ...wrapped(command.about, page.width)]),
    "",
    paint.bold("Usage"),
    ...usageLines(command, page),
    ...(actions.length === 0 ? [] : ["", paint.bold("Actions"), ...actionRows(actions, page)]),
    ...(own.length === 0 ? [] : ["", paint.bold("Options"), ...optionRows(own, page)]),
    "",
    paint.bold("Options for every command"),
    ...optionRows(commonOptions, page),
    "",
    paint.bold("Examples"),
    ...command.examples.map((example) => `${indent}${example}`),
    ...(command.recipes ?? []).flatMap(({ title, lines }) => [
      "",
      paint.bold(title),
      ...lines.map((line) => `${indent}${line}`),
    ]),
  ].join("\n");
}

function titleLines({ name, summary }: Command, { program, paint, width }: Page): string[] {
  const title = `${program.name} ${name}`;
  const [first = "", ...more] = wrapped(`${title}: ${summary}`, width);
  return [paint.bold(title) + first.slice(title.length), ...more];
}

function usageLines({ usage }: Command, { program, width }: Page): string[] {
  const lines = wrapped(`${program.name} ${usage}`, width - 3 * indent.length);
  return lines.map((line, i) => (i === 0 ? indent : indent.repeat(3)) + line);
}

function actionRows(actions: readonly Command[], page: Page): string[] {
  return columns(
    actions.map(({ name, summary }): [string, string] => [name.slice(name.indexOf(" ") + 1), summary]),
    page,
  );
}

function optionRows(options: readonly OptionSpec[], page: Page): string[] {
  return columns(options.map((spec) => [optionHead(spec), optionDoc(spec)]), page);
}

function optionHead(spec: OptionSpec): string {
  return spec.kind === "boolean" ? `--${spec.name}` : `--${spec.name} ${spec.placeholder}`;
}

function optionDoc(spec: OptionSpec): string {
  const choices = spec.kind === "choice" ? ` (${spec.choices.join(", ")})` : "";
  const standard = spec.defaultText ?? (spec.default === undefined ? "" : String(spec.default));
  return `${spec.doc}${choices}${standard === "" ? "" : ` [${standard}]`}`;
}

const widestHead = 28; // after a longer head, the text starts on the next line

function columns(rows: readonly (readonly [string, string])[], { paint, width }: Page): string[] {
  const head = Math.min(widestHead, Math.max(...rows.map(([name]) => name.length)));
  const gap = " ".repeat(indent.length + head + 2);
  return rows.flatMap(([name, text]) => {
    const lines = wrapped(text, Math.max(20, width - gap.length));
    const first = name.length > head
      ? [`${indent}${paint.cyan(name)}`, `${gap}${lines[0]}`]
      : [`${indent}${paint.cyan(name.padEnd(head))}  ${lines[0]}`];
    return [...first, ...lines.slice(1).map((line) => gap + line)];
  });
}
