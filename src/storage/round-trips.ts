/** How often a server was asked, and how long its answers took, since the start of this process. */
export class RoundTrips {
  count = 0;
  seconds = 0;

  /** Adds one that was begun then (`performance.now()`) and is answered now. */
  add(startedAt: number): void {
    this.count++;
    this.seconds += (performance.now() - startedAt) / 1_000;
  }
}
