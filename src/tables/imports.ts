import { boolean, integer, table, text } from './table.ts';

/** An import run. Its progress is committed in the same transaction as the animals. */
export interface ImportRun {
  /** SHA-256 of the whole input. For part of an input, a suffix is added (`…:9`, `…:1?status=sold`). */
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
