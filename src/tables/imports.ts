import { boolean, integer, type RowOf, table, text } from './table.ts';

/** Import runs, whose progress is committed in the same transaction as the animals. */
export const imports = table(
  'imports',
  {
    /** SHA-256 of the whole input. For part of an input, a suffix is added (`…:9`, `…:1?status=sold`). */
    source: text,
    /** The last input line whose outcome (added or rejected) is committed. */
    lastLine: integer,
    added: integer,
    rejected: integer,
    finished: boolean,
  },
  { key: ['source'] },
);

export type ImportRun = RowOf<typeof imports>;
