import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.ts';
import type { AdmissionOperations } from '../operations/admission.ts';
import type { Answers } from './answers.ts';
import type { FinishedAnswers } from './finished-answers.ts';
import type { Route, RoutedOperation } from './routes.ts';

/** What the pipeline works with. */
export interface House {
  readonly admission: AdmissionOperations;
  readonly answers: Answers;
  readonly finished: FinishedAnswers;
  readonly clock: Clock;
  readonly corsOrigins: ReadonlySet<string>;
  readonly log: Logger;
  readonly makeRequestId: () => string;
  readonly isDraining: () => boolean;
}

/** A request under the version, with what the router found out about it. */
export interface Incoming {
  readonly request: Request;
  readonly route: Route | undefined;
  /** What the request's method does there. */
  readonly routed: RoutedOperation | undefined;
  /** The path parameter as it came; empty where the path has none. */
  readonly petId: string;
  readonly requestId: string;
  /** The network of the client, for failed authentications. */
  readonly network: () => string;
}
