/** The identity that a process has read from its Redis. Times are those of PostgreSQL (Unix ms). */
export interface RedisReading {
  readonly process: string;
  /** Where the process runs and its REDIS_URL, without passwords. */
  readonly origin: string;
  /** The server's identity. */
  readonly server: string;
  /** Time by which the process had first read this identity. */
  readonly since: number;
  /**
   * A time before the last reading; 0 if the process has not read any identity, and uses the server of other processes.
   */
  readonly from: number;
  /** A time after the last reading, at which the process was running. */
  readonly until: number;
  /** Whether the other processes used the same server when this process began to use it. */
  readonly isConfirmed: boolean;
}

export interface RedisReadings {
  /** The readings of all processes, the current time, and a new identity for a server that has none. */
  list(): Promise<{
    readonly now: number;
    readonly proposed: string;
    readonly readings: readonly RedisReading[];
  }>;
  /** Stores a reading that began after the time `from`. The stored `since` never increases while the server is the same. */
  save(reading: Omit<RedisReading, 'until'>): Promise<void>;
  /**
   * Records that a process is running even though it cannot read its server. Its last reading is kept. If it has none,
   * it gets the server `server`.
   */
  keep(reading: Pick<RedisReading, 'process' | 'origin' | 'server'>): Promise<void>;
  remove(process: string): Promise<void>;
}
