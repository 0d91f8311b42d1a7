import { integer, nullable, table, text } from './table.ts';

/**
 * Stored responses for repeated requests (`Idempotency-Key`). `id` is the account's id, a colon and the value of the
 * header.
 */
export const answers = table('idempotent_answers', {
  id: text,
  request: text,
  status: integer,
  body: nullable(text),
  location: nullable(text),
  keptAt: integer,
});
