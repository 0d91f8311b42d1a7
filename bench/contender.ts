/** Servers under measurement: the service, baseline servers, and other frameworks. */
import type { PlanName } from '../src/domain/plan.ts';
import type { Feature } from './features.ts';
import type { PlannedRequest } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** Callers in a scenario: a mix of Free and Pro accounts, or accounts of one plan. */
export type Callers = 'free and pro' | PlanName;

export interface Target {
  readonly target: string;
  readonly key: string;
}

/** A contender's version of each request; undefined if the contender does not support the request. */
export interface Addressing {
  /** The first 20 available animals. */
  readonly list: Target;
  /** The 20 animals from an id on, optionally only the available ones; undefined if the contender has no such filter. */
  readonly page?: (minId: number, isAvailable: boolean) => Target;
  pet(id: number): Target;
  /** A list that contains only the animal with this id. */
  readonly petInList?: (id: number) => Target;
  readonly create: Target;
  /** Updates an animal. The body contains only a name. */
  readonly update?: (id: number) => Target;
  readonly order?: Ordering;
  /**
   * Returns the keys for one run of this length, in the order in which they are used. No account exceeds its limits.
   * If a contender has no plans, all requests use the same key.
   */
  readonly callers?: (who: Callers, seconds: number) => Promise<readonly string[]>;
  /** Returns a request whose key allows only one request per minute. Each call may return a different key. */
  readonly refused?: () => Target;
  /** A request that is rejected with 429 because its key is banned. */
  readonly banned?: Target;
}

export interface Ordering extends Target {
  /** Cancels all orders and returns the ids of available animals. Each animal can be ordered once. */
  readonly orderable: () => Promise<readonly bigint[]>;
}

export type Role = 'service' | 'limit' | 'peer';

export interface RunningContender {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly addressing: Addressing;
}

export interface Contender {
  readonly name: string;
  /** Name and version, for reports. */
  readonly title: string;
  readonly role: Role;
  readonly runtime: 'bun' | 'node' | 'native';
  readonly does: readonly Feature[];
  start(): Promise<{ server: ServerProcess; addressing: Addressing }>;
}

export function get({ target, key }: Target): PlannedRequest {
  return { method: 'GET', target, key };
}

export function post({ target, key }: Target, body: string): PlannedRequest {
  return { method: 'POST', target, key, body };
}

export function patch({ target, key }: Target, body: string): PlannedRequest {
  return { method: 'PATCH', target, key, body };
}
