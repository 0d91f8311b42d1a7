/** The options of a client, checked. */
import type { AnimalStoreOptions, Fetch } from './animal-store.js';
import type { Hooks } from './hooks.js';

export interface Settings {
  /** Address of the operations, which ends in `/v1`. */
  readonly base: string;
  readonly authorization: string;
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly pace: boolean;
  readonly fetch: Fetch;
  readonly hooks: Hooks;
}

/** Throws TypeError for what cannot be right. */
export function settingsOf(options: AnimalStoreOptions): Settings {
  return {
    base: baseOf(options.url),
    authorization: `Bearer ${keyOf(options.key)}`,
    timeoutMs: timeoutOf(options.timeoutMs ?? 30_000),
    maxWaitMs: maxWaitOf(options.maxWaitSeconds ?? 60),
    pace: options.pace ?? false,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    hooks: options,
  };
}

export function timeoutOf(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs;
  throw new TypeError(`timeoutMs has to be a number above 0, not ${timeoutMs}; Infinity for none.`);
}

function maxWaitOf(seconds: number): number {
  if (seconds >= 0) return seconds * 1_000;
  throw new TypeError(`maxWaitSeconds has to be a number of at least 0, not ${seconds}.`);
}

/** Takes the address with and without `/v1`. */
function baseOf(given: string | URL | undefined): string {
  let url: URL;
  try {
    url = new URL(String(given));
  } catch {
    throw new TypeError('url has to be the address of the service, such as https://animals.example.com.');
  }
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('url has to begin with http:// or https://, and to have no user name or password.');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}

/** The key is checked here, because fetch would quote it in its error. */
function keyOf(key: string | undefined): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError(
    `key has to be an API key (ask_…); ${key ? 'this has characters that none has' : 'there is none'}.`,
  );
}
