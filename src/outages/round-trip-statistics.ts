/** Number and total duration of the requests to a server, since this process started. */
export class RoundTripStatistics {
  count = 0;
  seconds = 0;

  /** Adds a request that began at `startedAt` (`performance.now()`) and ends now. */
  add(startedAt: number): void {
    this.count++;
    this.seconds += (performance.now() - startedAt) / 1_000;
  }
}
