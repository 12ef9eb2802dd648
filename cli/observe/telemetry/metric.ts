/** Prometheus text format 0.0.4. A sample is one line, whatever its labels hold. */

export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly suffix?: "_sum" | "_count";
}

export interface Metric<Source> {
  readonly name: string; // ends in its unit; a counter's in `_total`
  readonly type: "counter" | "gauge" | "summary";
  readonly unit: string | null; // null: a flag or bare number
  readonly help: string;
  readonly samples: (source: Source) => readonly Sample[];
}

export const expositionType = "text/plain; version=0.0.4; charset=utf-8";

export function exposition<Source>(metrics: readonly Metric<Source>[], source: Source): string {
  return metrics.map((metric) => {
    const { name, type, help } = metric;
    const lines = metric.samples(source).map((sample) => sampleLine(name, sample));
    return [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
  }).join("");
}

function sampleLine(name: string, { value, labels = {}, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapedLabel(text)}"`);
  return `${name}${suffix ?? ""}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberText(value)}`;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

const escapedHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapedLabel = (text: string): string => escapedHelp(text).replaceAll('"', '\\"');
