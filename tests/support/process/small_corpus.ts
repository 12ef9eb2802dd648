/** A text of a few kilobytes, from which the smallest tokenizer can be made in a moment. */

export async function writeSmallCorpus(folder: string): Promise<string> {
  const path = `${folder}/corpus.txt`;
  const lines = Array.from({ length: 300 }, (_, index) => {
    const number = index + 1;
    return `The people of union ${number} have always known that liberty and ${
      (number * 7919) % 1000
    } roads lead home, ` +
      `said the farmer to clerk ${number * 31}.`;
  });
  await Deno.writeTextFile(path, lines.join("\n\n"));
  return path;
}
