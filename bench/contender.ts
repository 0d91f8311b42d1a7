/** What is measured: the service, the limits it is compared with, and its peers. */
import type { PlanName } from '../src/domain/plan.ts';
import type { Feature } from './features.ts';
import type { PlannedRequest } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** Who calls: many Free and Pro accounts side by side, or accounts of one plan. */
export type Callers = 'free and pro' | PlanName;

export interface Target {
  readonly target: string;
  readonly key: string;
}

/** How a contender is asked for the same things. What it cannot do is undefined. */
export interface Addressing {
  /** The first 20 available animals. */
  readonly list: Target;
  pet(id: number): Target;
  readonly create: Target;
  /** Where an animal is changed; a name is enough. */
  readonly update?: (id: number) => Target;
  readonly order?: Ordering;
  /**
   * The keys of callers for one run of so long, in the order in which they call, no account beyond its limits; where
   * a contender knows no plans, one key makes all requests.
   */
  readonly callers?: (who: Callers, seconds: number) => Promise<readonly string[]>;
  /** Refused with 429 after its first request in a minute. A limit may have one that never ran before each time. */
  readonly refused?: () => Target;
  /** Refused with 429 because its key is banned, once it was hammered. */
  readonly banned?: Target;
}

export interface Ordering extends Target {
  /** Cancels the orders there are, and returns the animals that can be ordered, each once. */
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
  /** With its version. */
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
