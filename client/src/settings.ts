/** Validates the options of a client. */
import { ArgumentError } from './errors.js';
import type { Hooks } from './hooks.js';
import { version } from './version.js';

/** A function that sends a request, such as the global `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface AnimalStoreOptions extends Hooks {
  /** The API key, `ask_…`. */
  readonly key: string | undefined;
  /** Address of the service, such as `https://animals.example.com`. */
  readonly url: string | URL | undefined;
  /** Maximum total time that a call waits for limits and outages. Defaults to 60. */
  readonly maxWaitSeconds?: number | undefined;
  /** Maximum number of retries of a call. 0 disables retries. By default, only `maxWaitSeconds` limits retries. */
  readonly maxRetries?: number | undefined;
  /** Slows down before the limit is reached, so that no request is rejected. Defaults to false. */
  readonly pace?: boolean | undefined;
  /** Timeout of each attempt in milliseconds. Defaults to 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Headers sent with every request, for example for a gateway or tracing. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch | undefined;
}

export interface Settings {
  /** Base URL, ending in `/v1`. */
  readonly base: string;
  readonly authorization: string;
  /** Headers sent with every request. */
  readonly headers: Headers;
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  readonly maxRetries: number;
  readonly pace: boolean;
  readonly fetch: Fetch;
  readonly hooks: Hooks;
}

/** Validates the options and sets defaults. Throws an ArgumentError for invalid options. */
export function resolveSettings(options: AnimalStoreOptions): Settings {
  return {
    base: resolveBaseUrl(options.url),
    authorization: `Bearer ${validateKey(options.key)}`,
    headers: resolveHeaders(options.headers),
    timeoutMs: validateTimeout(options.timeoutMs ?? 30_000),
    maxWaitMs: atLeast0('maxWaitSeconds', options.maxWaitSeconds ?? 60) * 1_000,
    maxRetries: atLeast0('maxRetries', options.maxRetries ?? Infinity),
    pace: options.pace ?? false,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    hooks: options,
  };
}

export function validateTimeout(timeoutMs: number): number {
  if (timeoutMs > 0) return timeoutMs;
  throw new ArgumentError(
    `timeoutMs must be greater than 0, not ${timeoutMs}. Pass Infinity for no timeout.`,
  );
}

function atLeast0(name: string, value: number): number {
  if (value >= 0) return value;
  throw new ArgumentError(`${name} must be 0 or greater, not ${value}.`);
}

/** Returns the base URL. The given URL may or may not end in `/v1`. */
function resolveBaseUrl(given: string | URL | undefined): string {
  let url: URL;
  try {
    url = new URL(String(given));
  } catch (cause) {
    throw new ArgumentError(
      'url must be the address of the service, such as https://animals.example.com.',
      cause,
    );
  }
  if (!/^https?:$/.test(url.protocol) || url.username + url.password + url.search + url.hash !== '') {
    throw new ArgumentError(
      'url must begin with http:// or https://, without user name, password, query or fragment.',
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
}

/** Validates the key, because the error that `fetch` throws for an invalid key would contain the key. */
function validateKey(key: string | undefined): string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new ArgumentError(
    `key must be an API key (ask_…), but ${key ? 'contains invalid characters' : 'is missing'}.`,
  );
}

function resolveHeaders(given: Readonly<Record<string, string>> | undefined): Headers {
  const headers = new Headers();
  // Browsers set `User-Agent` themselves, and would send a preflight request for a custom value.
  if (!/^Mozilla/.test(globalThis.navigator?.userAgent ?? ''))
    headers.set('user-agent', `animal-store-client/${version}`);
  try {
    for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
  } catch (cause) {
    throw new ArgumentError('headers must contain valid HTTP header names and values.', cause);
  }
  return headers;
}
