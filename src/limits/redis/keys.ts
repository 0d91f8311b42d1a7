import { type Resource, resources } from '../../domain/resources.ts';

/** Names of the keys in Redis. Keys of the same account share a hash tag. */
export class RedisKeys {
  readonly prefix: string;
  /**
   * Part of the names of counts and bans. It changes when another server process has the data, because that process may
   * have loaded an older file, or may have been a replica that lagged behind. Counts and bans are then restored as if
   * Redis had lost its data.
   */
  generation = '';
  /** The server process that has the data, and the generation. */
  readonly process: string;
  readonly callers: string;
  readonly versions: readonly string[];
  readonly clock: string;
  /** Identity of the server. */
  readonly server: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.callers = this.version('callers');
    this.versions = resources.map((resource) => this.version(resource));
    this.process = `${prefix}process`;
    this.clock = `${prefix}clock`;
    this.server = `${prefix}server`;
  }

  /** The names for `callers` and `pets` are the same in every version of the service. */
  version(resource: Resource): string {
    return `${this.prefix}${resource}`;
  }

  usage(accountId: number): string {
    return `${this.prefix}{${accountId}}${this.generation}:usage`;
  }

  penalty(accountId: number, keyId: number): string {
    return `${this.prefix}{${accountId}}${this.generation}:key:${keyId}`;
  }

  get bans(): string {
    return `${this.prefix}bans${this.generation}`;
  }

  /** The scripts derive this name from `bans` in the same way. */
  get unsavedBans(): string {
    return `${this.bans}:unsaved`;
  }

  failures(address: string): string {
    return `${this.prefix}failures:${address}`;
  }

  ofTake(accountId: number, keyId: number): string[] {
    return [...this.ofStanding(accountId, keyId), this.bans];
  }

  ofStanding(accountId: number, keyId: number): string[] {
    const penalty = this.penalty(accountId, keyId);
    return [...this.versions, this.usage(accountId), penalty, this.clock, `${penalty}:strikes`];
  }
}
