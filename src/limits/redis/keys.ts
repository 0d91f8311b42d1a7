import { type Resource, resources } from '../../domain/resources.ts';

/** Names of the keys in Redis. Keys of the same account share a hash tag. */
export class RedisKeys {
  readonly prefix: string;
  readonly callers: string;
  readonly versions: readonly string[];
  readonly bans: string;
  /** The scripts derive this name from `bans` in the same way. */
  readonly unsavedBans: string;
  readonly clock: string;
  /** Identity of the server. */
  readonly server: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.callers = this.version('callers');
    this.versions = resources.map((resource) => this.version(resource));
    this.bans = `${prefix}bans`;
    this.unsavedBans = `${this.bans}:unsaved`;
    this.clock = `${prefix}clock`;
    this.server = `${prefix}server`;
  }

  /** The names for `callers` and `pets` are the same in every version of the service. */
  version(resource: Resource): string {
    return `${this.prefix}${resource}`;
  }

  usage(accountId: number): string {
    return `${this.prefix}{${accountId}}:usage`;
  }

  penalty(accountId: number, keyId: number): string {
    return `${this.prefix}{${accountId}}:key:${keyId}`;
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
