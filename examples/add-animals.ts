/**
 * Adds the animals listed in a file, which has a tab-separated name and category id on each line. If the program is
 * interrupted, run it again with the unchanged file: within 24 hours, each line is added only once.
 *
 *   API=http://127.0.0.1:3000 KEY=ask_your_key npx bun examples/add-animals.ts arrivals.tsv
 *
 * The key needs the pets:create scope. The program stays within the limits of the key's plan, even for a large file.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { AnimalStore, AnimalStoreError } from '@animal-store/client';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: npx bun examples/add-animals.ts arrivals.tsv');
const text = readFileSync(file, 'utf8');
const fileId = createHash('sha256').update(text).digest('hex').slice(0, 32);
const store = new AnimalStore({
  key: process.env.KEY,
  url: process.env.API,
  maxWaitSeconds: 3_600,
  onRetry: ({ error, waitMs }) =>
    console.error(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`),
});

async function add(line: string, number: number): Promise<string> {
  const [name = '', category = ''] = line.split('\t');
  try {
    // A line of the same file always has the same idempotency key, so it is added only once, even after a crash.
    const idempotencyKey = `${fileId}/${number}`;
    const pet = await store.pets.create({ name, categoryId: BigInt(category) }, { idempotencyKey });
    return `Added ${name} with the id ${pet.id}.`;
  } catch (error) {
    if (!(error instanceof AnimalStoreError || error instanceof SyntaxError)) throw error;
    process.exitCode = 1;
    return `Line ${number}: ${error.message}`;
  }
}

const lines = text.trimEnd().split('\n');
for (const outcome of await Promise.all(lines.map((line, index) => add(line, index + 1))))
  console.log(outcome);
