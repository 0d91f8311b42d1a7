import type { SharedVersions } from '../../../domain/shared-versions.ts';
import type { Notify } from '../../../outages/outage.ts';
import type { StoreFacts } from '../../admin.ts';
import type { PostgresDatabase } from '../database.ts';
import type { Select } from '../statements.ts';
import type { ServerState } from '../versions.ts';
import { Replica, unusedReportedMs } from './replica.ts';

interface ReplicasOptions {
  readonly urls: readonly string[];
  readonly poolSize: number;
  readonly database: PostgresDatabase;
  readonly versions: SharedVersions;
  readonly notice: Notify;
}

/**
 * Timeout for a read on a replica, as a fraction of the statement timeout, and its maximum in ms. The remaining time is
 * left for a retry on the primary.
 */
const replicaShare = 0.25;
const maxWaitMs = 500;

/**
 * Distributes reads. A read is sent to a replica that is known to have every change acknowledged before the request was
 * counted, or to the primary if there is no such replica. Each read also checks whether the replica has these changes;
 * if not, the result is discarded.
 */
export class Replicas implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #versions: SharedVersions;
  readonly #replicas: readonly Replica[];
  #primary: ServerState | undefined;
  /** Number of reads sent to the primary. */
  #primaryReads = 0;
  #turn = 0;

  constructor({ urls, poolSize, database, versions, notice }: ReplicasOptions) {
    this.#database = database;
    this.#versions = versions;
    const timeoutMs = Math.min(database.statementTimeoutMs * replicaShare, maxWaitMs);
    const primary = () => this.#primary;
    this.#replicas = urls.map((url) => new Replica({ url, poolSize, timeoutMs, primary, notice }));
  }

  /**
   * Updates the state of the primary. Undefined if the primary is not marked yet: replicas cannot be recognized, and are
   * not used.
   */
  applyPrimary(state: ServerState | undefined): void {
    this.#primary = state;
  }

  readonly select = async (query: Select): Promise<unknown[]> => {
    const dueAt = performance.now() + this.#database.statementTimeoutMs;
    const rows = await this.#fromReplica(query);
    if (rows !== undefined) return rows;
    this.#primaryReads++;
    return this.#database.read((sql) => sql.unsafe(query.text, [...query.values]), dueAt);
  };

  /** True if any replica has been out of use for at least a minute. */
  get isTroubled(): boolean {
    return this.#replicas.some(({ unusedMs }) => unusedMs >= unusedReportedMs);
  }

  get facts(): StoreFacts {
    const facts = this.#replicas.flatMap(({ name, isUsed, lagSeconds, reads, trouble }, index) => {
      const prefix = `replica${index + 1}`;
      return [
        [prefix, name],
        [`${prefix}InUse`, isUsed],
        [`${prefix}LagSeconds`, lagSeconds],
        [`${prefix}Reads`, reads],
        [`${prefix}Trouble`, trouble ?? null],
      ];
    });
    return { primaryReads: this.#primaryReads, ...Object.fromEntries(facts) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica[Symbol.asyncDispose]()));
  }

  #fromReplica(query: Select): Promise<unknown[] | undefined> | undefined {
    const { required, isConfirmed } = this.#versions;
    const version = required.of(query.resource);
    const { lineage } = this.#primary ?? {};
    // While the primary does not respond, another server may have replaced it.
    if (!isConfirmed || lineage == null || !Number.isFinite(version)) return undefined;
    const replica = this.#leastBusy(this.#replicas.filter((one) => one.has(query.resource, version)));
    // Polls the replicas in the background, so that the read does not wait.
    if (replica === undefined) for (const one of this.#replicas) void one.poll();
    return replica?.select(query, version, lineage);
  }

  /** Alternates between equally busy replicas. */
  #leastBusy(replicas: readonly Replica[]): Replica | undefined {
    this.#turn++;
    let best: Replica | undefined;
    for (let index = 0; index < replicas.length; index++) {
      const replica = replicas[(this.#turn + index) % replicas.length];
      if (replica !== undefined && replica.inFlight < (best?.inFlight ?? Number.POSITIVE_INFINITY))
        best = replica;
    }
    return best;
  }
}
