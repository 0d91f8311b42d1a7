/** The names of the keys in Redis. Those of one account share a hash tag. */
export class RedisKeys {
  readonly prefix: string;
  readonly callers: string;
  readonly pets: string;
  readonly bans: string;
  readonly clock: string;

  constructor(prefix: string) {
    this.prefix = prefix;
    this.callers = `${prefix}callers`;
    this.pets = `${prefix}pets`;
    this.bans = `${prefix}bans`;
    this.clock = `${prefix}clock`;
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

  /** The keys the script `take` works on, in its order. */
  ofTake(accountId: number, keyId: number): string[] {
    const penalty = this.penalty(accountId, keyId);
    const strikes = `${penalty}:strikes`;
    return [this.callers, this.pets, this.usage(accountId), penalty, strikes, this.bans, this.clock];
  }
}
