import type { sessions } from '../../../tables/operators.ts';
import { expiredSessionBatch, type SessionWrites, sessionRemovalBatch } from '../../admin.ts';
import { PostgresEntity } from './entity.ts';

export class PostgresSessions extends PostgresEntity<typeof sessions> implements SessionWrites {
  /** Skips a locked session instead of waiting for its lock. */
  async use(fingerprint: string, usedAt: number): Promise<void> {
    await this.runner.run(
      (sql) => sql`
        UPDATE sessions SET used_at = greatest(used_at, ${usedAt})
        WHERE fingerprint = ANY (ARRAY(
          SELECT fingerprint FROM sessions WHERE fingerprint = ${fingerprint} FOR UPDATE SKIP LOCKED
        ))`,
    );
  }

  async removeOf(operatorId: number, kept: number): Promise<void> {
    await this.runner.run(
      (sql) => sql`
        DELETE FROM sessions WHERE fingerprint = ANY (ARRAY(
          SELECT fingerprint FROM sessions WHERE operator_id = ${operatorId}
          ORDER BY used_at DESC LIMIT ${sessionRemovalBatch} OFFSET ${kept}
        ))`,
    );
  }

  /** Skips sessions that another transaction is removing. */
  async removeOld(usedBefore: number, now: number): Promise<void> {
    await this.runner.run(
      (sql) => sql`
        DELETE FROM sessions WHERE fingerprint = ANY (ARRAY(
          SELECT fingerprint FROM sessions WHERE used_at < ${usedBefore} OR expires_at <= ${now}
          LIMIT ${2 * expiredSessionBatch} FOR UPDATE SKIP LOCKED
        ))`,
    );
  }
}
