import type { AdminServices } from '../src/app/app.ts';
import { detectFormat, openFileInput } from '../src/cli/files/input.ts';
import { CommandError } from '../src/cli/terminal.ts';
import { Rows } from '../src/operations/files/rows.ts';
import { ImportOperations } from '../src/operations/imports/imports.ts';

/** Imports all animals from a file into the open store. Throws `CommandError` for an invalid row. */
export function importAnimals(file: string): (services: AdminServices) => Promise<void> {
  const format = detectFormat(file, undefined);
  return async (services) => {
    const { signal } = new AbortController();
    await using input = await openFileInput(file, signal);
    const rows = new Rows({ input, reader: format.newReader({ newIds: false }), signal });
    const task = { source: input.source, stored: undefined, rows, signal };
    for await (const { rejected } of new ImportOperations(services).add(task)) {
      const [first] = rejected;
      if (first !== undefined) {
        throw new CommandError(
          `${file}, line ${first.line}: ${first.reason}. Correct the file, then start again.`,
        );
      }
    }
  };
}
