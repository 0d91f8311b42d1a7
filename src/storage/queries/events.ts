import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { type Engine, perDialect } from './engine.ts';

/** Maximum number of events removed per transaction. */
const pruneBatch = 1_000;

/** Stops at the first retained event, because only the oldest events may be removed, even if the clock was set back. */
export const eventStatements = perDialect(({ isAmong }) => ({
  prune: `WITH oldest AS (SELECT id, created_at FROM events ORDER BY id LIMIT $2)
    DELETE FROM events WHERE ${isAmong('id', 'FROM oldest')}
      AND id < coalesce((SELECT min(id) FROM oldest WHERE created_at >= $1), 9223372036854775807)`,
}));

/** Returns whether more events may remain. */
export function pruneEvents(engine: Engine, before: number): Awaitable<boolean> {
  return andThen(
    engine.run(eventStatements(engine).prune, before, pruneBatch),
    (count) => count === pruneBatch,
  );
}
