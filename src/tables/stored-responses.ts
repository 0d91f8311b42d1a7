import { integer, nullable, table, text } from './table.ts';

/**
 * Responses to requests with an `Idempotency-Key`, stored so that they can be replayed. `id` is the account's id, a
 * colon and the value of the header.
 */
export const storedResponses = table('idempotent_answers', {
  id: text,
  request: text,
  status: integer,
  body: nullable(text),
  location: nullable(text),
  keptAt: integer,
});
