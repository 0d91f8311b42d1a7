import { boolean, integer, table, text } from './table.ts';

/** An import. Its progress is committed together with its animals. */
export interface ImportRun {
  /** SHA-256 of the whole input; for a part of it with a suffix (`…:9`, `…:1?status=sold`). */
  readonly source: string;
  /** The last input line whose outcome (added or rejected) is committed. */
  readonly lastLine: number;
  readonly added: number;
  readonly rejected: number;
  readonly finished: boolean;
}

export const imports = table(
  'imports',
  { source: text, lastLine: integer, added: integer, rejected: integer, finished: boolean },
  { key: ['source'] },
);
