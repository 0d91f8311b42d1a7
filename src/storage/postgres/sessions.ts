import type { Session, SessionStore, SessionWrites } from '../admin.ts';
import { type SessionRow, sessionOfRow } from '../admin-rows.ts';
import type { Reader, Statements } from './statements.ts';

export class PostgresSessions implements SessionStore {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  async find(fingerprint: string): Promise<Session | undefined> {
    const [row] = await this.#reader.read<SessionRow[]>(
      (sql) => sql`
        SELECT fingerprint, operator_id AS "operatorId", actor, role, used_at AS "usedAt", expires_at AS "expiresAt"
        FROM sessions WHERE fingerprint = ${fingerprint}`,
    );
    return row && sessionOfRow(row);
  }
}

export class PostgresSessionWrites implements SessionWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  async add({ fingerprint, operatorId, actor, role, usedAt, expiresAt }: Session): Promise<void> {
    await this.#statements.run(
      (sql) => sql`
        INSERT INTO sessions (fingerprint, operator_id, actor, role, used_at, expires_at)
        VALUES (${fingerprint}, ${operatorId ?? null}, ${actor}, ${role}, ${usedAt}, ${expiresAt})`,
    );
  }

  /** Nobody waits here for who changes the session just now: that is another use of it, or its end. */
  async use(fingerprint: string, usedAt: number): Promise<void> {
    await this.#statements.run(
      (sql) => sql`
        UPDATE sessions SET used_at = greatest(used_at, ${usedAt})
        WHERE fingerprint = ANY (ARRAY(
          SELECT fingerprint FROM sessions WHERE fingerprint = ${fingerprint} FOR UPDATE SKIP LOCKED
        ))`,
    );
  }

  async remove(fingerprint: string): Promise<void> {
    await this.#statements.run((sql) => sql`DELETE FROM sessions WHERE fingerprint = ${fingerprint}`);
  }

  async removeOf(operatorId: number): Promise<void> {
    await this.#statements.run((sql) => sql`DELETE FROM sessions WHERE operator_id = ${operatorId}`);
  }

  /** Nobody waits to remove what somebody else removes just now. */
  async removeOld(usedBefore: number, now: number): Promise<void> {
    await this.#statements.run(
      (sql) => sql`
        DELETE FROM sessions WHERE fingerprint = ANY (ARRAY(
          SELECT fingerprint FROM sessions WHERE used_at < ${usedBefore} OR expires_at <= ${now}
          FOR UPDATE SKIP LOCKED
        ))`,
    );
  }
}
