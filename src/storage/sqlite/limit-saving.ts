import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { Conduct, Usage } from '../../domain/limit.ts';
import { type Notice, Outage } from '../outage.ts';
import type { LimitFile } from './limit-file.ts';

/** How many accounts' and keys' states wait for a file that cannot be written; beyond, the least recent are lost. */
const mostUnsaved = 100_000;
/** How often a file that cannot be written is tried again. */
const retryMs = 50;
/** Most states of a kind that one retry writes, so that it does not hold the event loop for long. */
const savedAtOnce = 1_000;

export interface AccountState {
  usage: Usage;
  /** What the file says. Unless it cannot be written never below `usage`, so that no crash admits anyone over quota. */
  reserved: Usage;
}

/**
 * Writes limit state to its file. A file that is locked or cannot be written holds up nobody: what it does not have
 * is kept here, and a timer writes it as soon as it can be. Until then it is lost when the process is killed.
 */
export class LimitSaving {
  readonly #file: LimitFile;
  readonly #outage: Outage;
  readonly #accounts = new LRUCache<number, AccountState>(atMost(mostUnsaved));
  readonly #conducts = new LRUCache<number, Conduct>(atMost(mostUnsaved));
  /** Set while the file cannot be written. */
  #retry: NodeJS.Timeout | undefined;

  constructor(file: LimitFile, notice: Notice) {
    this.#file = file;
    this.#outage = new Outage('limit storage', notice);
  }

  /** Why limit state is not being saved; undefined while it is. */
  get trouble(): string | undefined {
    return this.#outage.trouble;
  }

  account(id: number): AccountState {
    const unsaved = this.#accounts.get(id);
    if (unsaved !== undefined) return unsaved;
    const usage = this.#file.usage(id);
    return { usage, reserved: usage };
  }

  conduct(keyId: number): Conduct {
    return this.#conducts.get(keyId) ?? this.#file.conduct(keyId);
  }

  /** Writes `usage` for the account, now or as soon as the file can be written. */
  saveAccount(id: number, state: AccountState, usage: Usage): void {
    const isSaved = this.#saved(() => this.#file.saveUsage(id, usage));
    if (isSaved) state.reserved = usage;
    else this.#accounts.set(id, state);
  }

  saveConduct(keyId: number, conduct: Conduct): void {
    const isSaved = this.#saved(() => this.#file.saveConduct(keyId, conduct));
    if (!isSaved) this.#conducts.set(keyId, conduct);
  }

  /** The key's conduct is not to be written any more. */
  forgetConduct(keyId: number): void {
    this.#conducts.delete(keyId);
  }

  /** Writes everything, waiting for other processes' locks: nobody waits for this one any more. */
  close(accounts: Iterable<[number, AccountState]>): void {
    clearInterval(this.#retry);
    const states = new Map([...this.#accounts.entries(), ...accounts].filter(isAhead));
    const conducts = [...this.#conducts.entries()];
    if (states.size + conducts.length === 0) return;
    this.#file.waitForLocks();
    this.#write([...states], conducts);
  }

  #saved(write: () => void): boolean {
    if (this.#retry !== undefined) return false;
    try {
      write();
      return true;
    } catch (error) {
      this.#failed(error);
      this.#retry = setInterval(() => this.#catchUp(), retryMs).unref();
      return false;
    }
  }

  #catchUp(): void {
    const accounts = [...this.#accounts.entries().take(savedAtOnce)];
    const conducts = [...this.#conducts.entries().take(savedAtOnce)];
    if (!this.#write(accounts, conducts)) return;
    for (const [id, state] of accounts) {
      state.reserved = state.usage;
      this.#accounts.delete(id);
    }
    for (const [keyId] of conducts) this.#conducts.delete(keyId);
    if (this.#accounts.size + this.#conducts.size > 0) return;
    clearInterval(this.#retry);
    this.#retry = undefined;
    this.#outage.end();
  }

  #write(accounts: readonly [number, AccountState][], conducts: readonly [number, Conduct][]): boolean {
    try {
      this.#file.together(() => {
        for (const [id, { usage }] of accounts) this.#file.saveUsage(id, usage);
        for (const [keyId, conduct] of conducts) this.#file.saveConduct(keyId, conduct);
      });
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    this.#outage.begin((error as Error).message);
  }
}

/** Whether the file does not say exactly what was used. */
function isAhead([, { usage, reserved }]: [number, AccountState]): boolean {
  return usage !== reserved;
}
