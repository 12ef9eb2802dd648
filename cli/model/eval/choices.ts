/**
 * Multiple-choice questions in JSON lines, as data sets publish them, answered by log-likelihood: the choice that the model
 * finds likeliest behind the question. `accuracyPerByte` divides by the choice's bytes first, so that short ones have no
 * advantage (acc_norm of the Language Model Evaluation Harness).
 */

import * as v from "valibot";
import { startOf } from "../../../core/tokenizer/tokenizer.ts";
import type { TextModel } from "../generate/text_model.ts";
import { scoreTexts } from "./score_tokens.ts";
import { UserError } from "../../program/errors.ts";

export interface Question {
  readonly prompt: string;
  readonly choices: readonly string[];
  readonly answer: number; // index
}

export interface ChoicesScore {
  readonly questions: number;
  readonly accuracy: number;
  readonly accuracyPerByte: number;
  readonly shortened: number; // questions whose beginning did not fit the model's context
}

const some = v.pipe(v.array(v.string()), v.minLength(2), v.maxLength(64));
const digits = v.pipe(v.string(), v.regex(/^\d+$/)); // an empty one, as in test sets without answers, is not 0
const index = v.pipe(v.union([v.number(), digits]), v.transform(Number), v.safeInteger(), v.minValue(0));

/** ARC and its like; HellaSwag; the plain form with one of several names for each field. */
const shapes = [
  v.pipe(
    v.object({
      question: v.string(),
      choices: v.object({ text: some, label: v.array(v.string()) }),
      answerKey: v.string(),
    }),
    v.transform(({ question, choices, answerKey }): Question => ({
      ...{ prompt: `Question: ${question}\nAnswer:`, choices: choices.text.map((text) => ` ${text}`) },
      answer: choices.label.indexOf(answerKey),
    })),
  ),
  v.pipe(
    v.object({ ctx: v.string(), endings: some, label: index }),
    v.transform(({ ctx, endings, label }): Question => ({
      ...{ prompt: ctx, choices: endings.map((text) => ` ${text}`), answer: label },
    })),
  ),
  ...(["question", "prompt", "query"] as const).flatMap((asked) =>
    (["answer", "gold", "label"] as const).map((right) =>
      v.pipe(
        v.object({ [asked]: v.string(), choices: some, [right]: index }),
        v.transform((line): Question => {
          const { choices } = line as { choices: string[] };
          return {
            ...{ prompt: String(line[asked]), choices: choices.map((text) => /^\s/.test(text) ? text : ` ${text}`) },
            answer: Number(line[right]),
          };
        }),
      )
    )
  ),
];
const lineShape = v.pipe(
  v.string(),
  v.parseJson(),
  v.union(shapes),
  v.check(({ choices, answer }) => answer >= 0 && answer < choices.length),
);

export function readQuestions(text: string, path: string): Question[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const questions = lines.map((line, i) => {
    const shaped = v.safeParse(lineShape, line);
    if (shaped.success) return shaped.output;
    throw new UserError(`Line ${i + 1} of '${path}' is not a question with choices and an answer among them`, {
      next: 'Write each as {"question": "…", "choices": ["…", "…"], "answer": 0}, or as ARC or HellaSwag do',
    });
  });
  if (questions.length > 0) return questions;
  throw new UserError(`There is no question in '${path}'`, { next: "Pass a file of JSON lines" });
}

export async function evalChoices(
  model: TextModel,
  questions: readonly Question[],
  onAnswered: (done: number, total: number) => void = () => {},
): Promise<ChoicesScore> {
  const encoder = new TextEncoder();
  let [right, rightPerByte, shortened] = [0, 0, 0];
  for (const [i, { prompt, choices, answer }] of questions.entries()) {
    onAnswered(i, questions.length);
    const texts = choices.map((choice) => textOf(model, prompt, choice));
    if (texts.some(({ isShortened }) => isShortened)) shortened += 1;
    const losses = (await scoreTexts(model, texts)).map((each) => each.reduce((sum, loss) => sum + loss, 0));
    const perByte = losses.map((loss, choice) => loss / encoder.encode(choices[choice]).length);
    if (least(losses) === answer) right += 1;
    if (least(perByte) === answer) rightPerByte += 1;
  }
  const { length } = questions;
  return { questions: length, accuracy: right / length, accuracyPerByte: rightPerByte / length, shortened };
}

/** The choice's own tokens are scored: those of the whole text behind the prompt's. */
function textOf({ tokenizer, room }: TextModel, prompt: string, choice: string) {
  const asked = [...startOf(tokenizer), ...tokenizer.encode(prompt)];
  const whole = [...asked, ...tokenizer.encode(choice)];
  const tokens = whole.slice(-(room.length + 1));
  const lost = whole.length - tokens.length;
  return { tokens, from: Math.max(1, asked.length - lost), isShortened: lost > 0 };
}

const least = (values: readonly number[]): number => values.indexOf(Math.min(...values));
