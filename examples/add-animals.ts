/**
 * Adds the animals listed in a UTF-8 file, which has a tab-separated name and category id on each line. If the program is
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
const bytes = readFileSync(file);
const fileId = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
const store = new AnimalStore({
  key: process.env.KEY,
  url: process.env.API,
  maxWaitSeconds: 3_600,
  onRetry: ({ error, waitMs }) =>
    console.error(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`),
});

function parse(line: string) {
  const [, name = '', category] = /^([^\t]+)\t(\d+)$/.exec(line) ?? [];
  return category === undefined ? undefined : { name, categoryId: BigInt(category) };
}

const lines = new TextDecoder('utf-8', { fatal: true }).decode(bytes).trimEnd().split(/\r?\n/);
const pets = lines.map(parse);
const invalid = pets.flatMap((pet, index) => (pet === undefined ? [index + 1] : []));
if (invalid.length > 0) {
  const shown = invalid.slice(0, 10).join(', ');
  console.error(`Nothing was added, because these lines are not a name, a tab and a category id: ${shown}`);
  process.exit(1);
}

async function add(pet: NonNullable<ReturnType<typeof parse>>, number: number): Promise<string> {
  try {
    // A line of the same file always has the same idempotency key, so it is added only once, even after a crash.
    const idempotencyKey = `${fileId}/${number}`;
    const { id } = await store.pets.create(pet, { idempotencyKey });
    return `Added ${pet.name} with the id ${id}.`;
  } catch (error) {
    if (!(error instanceof AnimalStoreError)) throw error;
    process.exitCode = 1;
    return `Line ${number}: ${error.message}`;
  }
}

const added = pets.flatMap((pet, index) => (pet === undefined ? [] : [add(pet, index + 1)]));
for (const outcome of await Promise.all(added)) console.log(outcome);
if (process.exitCode === 1)
  console.error('Put the corrected lines into a new file: a changed file would add all its lines again.');
