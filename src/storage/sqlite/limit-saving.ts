import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { KeyPenalty, Usage } from '../../domain/limit.ts';
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
  readonly #penalties = new LRUCache<number, KeyPenalty>(atMost(mostUnsaved));
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

  penalty(keyId: number): KeyPenalty {
    return this.#penalties.get(keyId) ?? this.#file.penalty(keyId);
  }

  /** Writes `usage` for the account, now or as soon as the file can be written. */
  saveAccount(id: number, state: AccountState, usage: Usage): void {
    const isSaved = this.#saved(() => this.#file.saveUsage(id, usage));
    if (isSaved) state.reserved = usage;
    else this.#accounts.set(id, state);
  }

  savePenalty(keyId: number, penalty: KeyPenalty): void {
    const isSaved = this.#saved(() => this.#file.savePenalty(keyId, penalty));
    if (!isSaved) this.#penalties.set(keyId, penalty);
  }

  /** The key's penalty is not to be written any more. */
  forgetPenalties(keyId: number): void {
    this.#penalties.delete(keyId);
  }

  /** Writes everything, waiting for other processes' locks: nobody waits for this one any more. */
  close(accounts: Iterable<[number, AccountState]>): void {
    clearInterval(this.#retry);
    const states = new Map([...this.#accounts.entries(), ...accounts].filter(isAhead));
    const penalties = [...this.#penalties.entries()];
    if (states.size + penalties.length === 0) return;
    this.#file.waitForLocks();
    this.#write([...states], penalties);
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
    const penalties = [...this.#penalties.entries().take(savedAtOnce)];
    if (!this.#write(accounts, penalties)) return;
    for (const [id, state] of accounts) {
      state.reserved = state.usage;
      this.#accounts.delete(id);
    }
    for (const [keyId] of penalties) this.#penalties.delete(keyId);
    if (this.#accounts.size + this.#penalties.size > 0) return;
    clearInterval(this.#retry);
    this.#retry = undefined;
    this.#outage.end();
  }

  #write(accounts: readonly [number, AccountState][], penalties: readonly [number, KeyPenalty][]): boolean {
    try {
      this.#file.together(() => {
        for (const [id, { usage }] of accounts) this.#file.saveUsage(id, usage);
        for (const [keyId, penalty] of penalties) this.#file.savePenalty(keyId, penalty);
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
