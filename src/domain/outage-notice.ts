/**
 * Whether requests fail with 503 during an outage, or a function that returns whether the outage explains the error of a
 * request.
 */
export type FailsRequests = boolean | ((error: unknown) => boolean);

/** The beginning or the end of an outage. */
export interface OutageNotice {
  readonly part: string;
  readonly works: boolean;
  readonly failsRequests?: FailsRequests;
  /** End of the outage (`performance.now()`); undefined if it ends now. */
  readonly endedAt?: number | undefined;
}
