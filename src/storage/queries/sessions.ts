import { expiredSessionBatch, type SessionWrites, sessionRemovalBatch } from '../admin.ts';
import type { EntityWrites } from '../entity.ts';
import { type Engine, perDialect } from './engine.ts';

/** Statements skip a locked session instead of waiting for its lock. */
const sessionStatements = perDialect(({ isAmong, locking, greatest }) => {
  const where = (condition: string) => `WHERE ${isAmong('fingerprint', `FROM sessions WHERE ${condition}`)}`;
  const skipLocked = locking('FOR UPDATE SKIP LOCKED');
  const removeOld = (condition: string) =>
    `DELETE FROM sessions ${where(`${condition} LIMIT ${expiredSessionBatch} ${skipLocked}`)}`;
  return {
    lockOperator: `SELECT id FROM operators WHERE id = $1 ${locking('FOR NO KEY UPDATE')}`,
    use: `UPDATE sessions SET used_at = ${greatest}(used_at, $2) ${where(`fingerprint = $1 ${skipLocked}`)}`,
    removeOf: `DELETE FROM sessions ${where(
      `operator_id = $1 ORDER BY used_at DESC LIMIT ${sessionRemovalBatch} OFFSET $2`,
    )}`,
    removeUnused: removeOld('used_at < $1'),
    removeExpired: removeOld('expires_at <= $1'),
  };
});

export function createSessionWrites(engine: Engine): Omit<SessionWrites, keyof EntityWrites<unknown>> {
  const texts = sessionStatements(engine);
  return {
    async lockOperator(operatorId) {
      await engine.all(texts.lockOperator, operatorId);
    },

    async use(fingerprint, usedAt) {
      await engine.run(texts.use, fingerprint, usedAt);
    },

    async removeOf(operatorId, kept) {
      await engine.run(texts.removeOf, operatorId, kept);
    },

    async removeOld(usedBefore, now) {
      await engine.run(texts.removeUnused, usedBefore);
      await engine.run(texts.removeExpired, now);
    },
  };
}
