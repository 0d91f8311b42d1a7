import type { sessions } from '../../../tables/operators.ts';
import { expiredSessionBatch, type SessionWrites, sessionRemovalBatch } from '../../admin.ts';
import { SqliteEntity } from './entity.ts';

export class SqliteSessions extends SqliteEntity<typeof sessions> implements SessionWrites {
  use(fingerprint: string, usedAt: number): void {
    const statement = this.prepare('UPDATE sessions SET used_at = max(used_at, ?) WHERE fingerprint = ?');
    statement.run(usedAt, fingerprint);
  }

  removeOf(operatorId: number, kept: number): void {
    this.prepare(
      `DELETE FROM sessions WHERE fingerprint IN (
         SELECT fingerprint FROM sessions WHERE operator_id = ?1
         ORDER BY used_at DESC LIMIT ${sessionRemovalBatch} OFFSET ?2)`,
    ).run(operatorId, kept);
  }

  removeOld(usedBefore: number, now: number): void {
    const remove = (condition: string) =>
      `DELETE FROM sessions WHERE fingerprint IN (
         SELECT fingerprint FROM sessions WHERE ${condition} LIMIT ${expiredSessionBatch})`;
    this.prepare(remove('used_at < ?')).run(usedBefore);
    this.prepare(remove('expires_at <= ?')).run(now);
  }
}
