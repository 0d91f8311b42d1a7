import type { sessions } from '../../../tables/operators.ts';
import type { SessionWrites } from '../../admin.ts';
import { SqliteEntity } from './entity.ts';

export class SqliteSessions extends SqliteEntity<typeof sessions> implements SessionWrites {
  use(fingerprint: string, usedAt: number): void {
    const statement = this.prepare('UPDATE sessions SET used_at = max(used_at, ?) WHERE fingerprint = ?');
    statement.run(usedAt, fingerprint);
  }

  removeOf(operatorId: number): void {
    this.prepare('DELETE FROM sessions WHERE operator_id = ?').run(operatorId);
  }

  removeOld(usedBefore: number, now: number): void {
    this.prepare('DELETE FROM sessions WHERE used_at < ?').run(usedBefore);
    this.prepare('DELETE FROM sessions WHERE expires_at <= ?').run(now);
  }
}
