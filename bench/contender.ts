/** Servers under measurement: the service, the limits it is compared with, and its peers. */
import type { PlanName } from '../src/domain/plan.ts';
import type { Feature } from './features.ts';
import type { PlannedRequest } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** Callers of a scenario: many Free and Pro accounts side by side, or accounts of one plan. */
export type Callers = 'free and pro' | PlanName;

export interface Target {
  readonly target: string;
  readonly key: string;
}

/** Requests to a contender for the same things. Undefined where the contender has no equivalent. */
export interface Addressing {
  /** The first 20 available animals. */
  readonly list: Target;
  pet(id: number): Target;
  readonly create: Target;
  /** Updates an animal; a name is enough. */
  readonly update?: (id: number) => Target;
  readonly order?: Ordering;
  /**
   * The keys of callers for one run of this length, in the order of their calls, with no account beyond its limits. If
   * a contender has no plans, one key makes all requests.
   */
  readonly callers?: (who: Callers, seconds: number) => Promise<readonly string[]>;
  /** Refused with 429 after its first request in a minute. Each call may return an unused key. */
  readonly refused?: () => Target;
  /** Refused with 429 because its key is banned after too many requests. */
  readonly banned?: Target;
}

export interface Ordering extends Target {
  /** Cancels all orders, and returns the animals that can be ordered, each once. */
  readonly orderable: () => Promise<readonly bigint[]>;
}

export type Role = 'service' | 'limit' | 'peer';

export interface Running {
  readonly contender: Contender;
  readonly server: ServerProcess;
  readonly addressing: Addressing;
}

export interface Contender {
  readonly name: string;
  /** Includes its version. */
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
