/**
 * Adds the animals listed in a UTF-8 file, which has a tab-separated name and category id on each line. The file
 * arrivals.tsv.added records which lines were added. If the program is interrupted, or a line is rejected and then
 * corrected, run it again: within 24 hours, each line is added only once, and recorded lines are never added again. Delete the
 * record before you add the file to another service, or other animals with the same file name.
 *
 *   API=http://127.0.0.1:3000 KEY=ask_your_key npx bun examples/add-animals.ts arrivals.tsv
 *
 * The key needs the pets:create scope. The program stays within the limits of the key's plan, even for a large file.
 */
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { AnimalStore, AnimalStoreError } from '@animal-store/client';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: npx bun examples/add-animals.ts arrivals.tsv');
const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
const store = new AnimalStore({
  key: process.env.KEY,
  url: process.env.API,
  maxWaitSeconds: 3_600,
  onRetry: ({ error, waitMs }) =>
    console.error(`${error.message} Retrying in ${Math.ceil(waitMs / 1_000)} s.`),
});

// The record begins with an id, because another file with the same name and lines lists other animals.
const record = `${file}.added`;
if (!existsSync(record)) {
  const recordId = randomUUID();
  const created = `${record}.${recordId}`;
  try {
    writeFileSync(created, `${recordId}\n`);
    // Unlike a rename, does not replace the record of a run that began at the same time.
    linkSync(created, record);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(created, { force: true });
  }
}
const [recordId = '', ...recorded] = readFileSync(record, 'utf8').split('\n');
if (recordId.length !== randomUUID().length)
  throw new Error(`${record} is damaged. Check which animals were added before you delete it.`);
const added = new Set(recorded);

async function add(line: string, number: number, idempotencyKey: string): Promise<void> {
  const [, name, category] = /^([^\t]+)\t(-?\d+)$/.exec(line) ?? [];
  try {
    if (name === undefined || category === undefined)
      throw new SyntaxError('This is not a name, a tab and a category id.');
    const { id } = await store.pets.create({ name, categoryId: BigInt(category) }, { idempotencyKey });
    // Begins with a line feed as well, because a crash may have left an incomplete line.
    appendFileSync(record, `\n${idempotencyKey}\n`);
    console.log(`Added ${name} with the id ${id}.`);
  } catch (error) {
    if (!(error instanceof AnimalStoreError || error instanceof SyntaxError)) throw error;
    process.exitCode = 1;
    console.log(`Line ${number}: ${error.message}`);
  }
}

const counts = new Map<string, number>();
const adding = text
  .trimEnd()
  .split(/\r?\n/)
  .map((line, index) => {
    // Two equal lines list two animals.
    const count = (counts.get(line) ?? 0) + 1;
    counts.set(line, count);
    // A line always has the same idempotency key, so it is added only once, even after a crash.
    const idempotencyKey = createHash('sha256').update(`${recordId} ${count}\t${line}`).digest('hex');
    return added.has(idempotencyKey) ? undefined : add(line, index + 1, idempotencyKey);
  });
const skipped = adding.filter((each) => each === undefined).length;
if (skipped > 0) console.error(`${skipped} lines were added earlier, as recorded in ${record}.`);
await Promise.all(adding);
